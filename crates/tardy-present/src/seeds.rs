//! The table of an experiment with several seeds.

use tardy_compare::seeds::SeedsRow;

use crate::table::Table;
use crate::terminal_text::{Style, TerminalText, wrapped};
use tardy_plot::numbers::{harmless, microseconds};

/// The table and what it means, `width` columns wide.
pub fn text(rows: &[SeedsRow], width: usize, colour: bool) -> String {
    let mut out = TerminalText::new(colour);
    let seeds = rows.iter().map(|row| row.seeds).max().unwrap_or(0);
    out.line(&format!("{seeds} seeds"), Style::Bold);
    table(rows).lines(width).into_iter().for_each(|line| out.line(&line, Style::Plain));
    let legend = "p50 is the median over the seeds. A seed's maximum is exact and one of many: the least, the median and the \
                  highest of them are shown.";
    out.text.push('\n');
    wrapped(legend, width).into_iter().for_each(|line| out.line(&line, Style::Faint));
    out.text
}

fn table(rows: &[SeedsRow]) -> Table {
    let mut table = Table::new(&["kernel", "phase", "p50, us", "max: least", "median", "highest"]);
    for row in rows {
        let values = [row.p50_ns, row.least_max_ns, row.median_max_ns, row.most_max_ns];
        let mut cells = vec![harmless(&row.kernel), harmless(&row.phase)];
        cells.extend(values.map(|ns| microseconds(ns as f64)));
        table.push(cells);
    }
    table
}
