//! Two or more runs side by side, for the terminal.

use tardy_analyse::compare::{Comparison, Pair, Ratio, RowPair, Side};
use tardy_analyse::difference::Difference;
use tardy_analyse::shape::Shape;

use crate::latency::{harmless, microseconds, per_cent, short, three_digits};
use crate::summary::folded;
use crate::table::Table;

/// What a comparison of one run each can show.
pub const DESCRIPTIVE: &str = "Descriptive only: one run each. Whether another boot of the same kernel would differ as \
                               much is not known from this.";
/// Longer values are shortened in tables.
const VALUE_MAX: usize = 44;

/// The comparison, `width` columns wide. Ends with a newline.
pub fn text(comparison: &Comparison, width: usize) -> String {
    let width = width.max(60);
    let mut blocks: Vec<Vec<String>> = Vec::new();
    for pair in &comparison.candidates {
        blocks.push(head(comparison, pair, width));
        blocks.extend(pair.rows.iter().filter(|row| row.label == "all").map(|row| all_block(row, width)));
        blocks.push(series_block(pair, width));
        blocks.extend(differences(pair, width));
    }
    blocks.push(folded(DESCRIPTIVE, width));
    let blocks: Vec<String> =
        blocks.into_iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    blocks.join("\n\n") + "\n"
}

/// What the kernels are; then, before any number, whether the two may be compared.
fn head(comparison: &Comparison, pair: &Pair, width: usize) -> Vec<String> {
    let side = |name: &str, side: &Side| {
        folded(&format!("{name}: {}. {}", harmless(&side.id), harmless(&side.headline)), width)
    };
    let mut lines = side("Base", &comparison.base);
    lines.extend(side("Candidate", &pair.candidate));
    for reason in &pair.not_comparable_because {
        lines.extend(folded(&format!("NOT COMPARABLE: {}", harmless(reason)), width));
    }
    for left_out in &pair.unmatched {
        lines.extend(folded(&format!("Left out: {}", harmless(left_out)), width));
    }
    lines
}

fn all_block(row: &RowPair, width: usize) -> Vec<String> {
    let mut table = Table::new(&["us", "base", "candidate", "ratio"]);
    for ratio in &row.ratios {
        table.push(ratio_cells(ratio));
    }
    let mut lines = folded(&format!("{}, {}", harmless(&row.phase), harmless(&pooled(row))), width);
    lines.extend(table.lines(width.min(60)));
    lines.extend(row.shape.map(|shape| folded(&shape_text(&shape, "us"), width)).into_iter().flatten());
    lines
}

/// Which series a pooled row is of: `all CPUs`, or `only cpu 1, which both have`.
pub(crate) fn pooled(row: &RowPair) -> String {
    row.only
        .as_ref()
        .map_or_else(|| "all CPUs".to_owned(), |only| format!("only {}, which both have", only.join(" + ")))
}

/// How far the distributions lie apart, in words.
pub(crate) fn shape_text(shape: &Shape, unit: &str) -> String {
    format!(
        "Of a wake-up of each, the candidate's is the later one in {} of cases (half is no difference). The two \
         distribution functions are at most {} apart; on average values moved by {} {unit}.",
        per_cent(shape.later),
        three_digits(shape.kolmogorov_smirnov),
        three_digits(shape.wasserstein_ns / 1000.0)
    )
}

/// Each CPU in one line: its tail and its maximum.
fn series_block(pair: &Pair, width: usize) -> Vec<String> {
    let mut table =
        Table::new(&["us", "p99.9: base", "candidate", "ratio", "max: base", "candidate", "ratio"]);
    let series: Vec<&RowPair> = pair.rows.iter().filter(|row| row.label != "all").collect();
    let phases = series.iter().any(|row| row.phase != series[0].phase);
    for row in &series {
        let label = if phases { format!("{}, {}", row.phase, row.label) } else { row.label.clone() };
        let mut cells = vec![short(&harmless(&label), VALUE_MAX)];
        for ratio in row.ratios.iter().filter(|ratio| ["p99.9", "max"].contains(&ratio.name)) {
            cells.extend(ratio_cells(ratio).into_iter().skip(1));
        }
        table.push(cells);
    }
    if series.is_empty() { Vec::new() } else { table.lines(width) }
}

fn ratio_cells(ratio: &Ratio) -> Vec<String> {
    let us = |ns: Option<f64>| ns.map_or_else(|| "n/a".to_owned(), microseconds);
    let text = ratio.ratio.map_or_else(|| "-".to_owned(), crate::latency::ratio);
    vec![ratio.name.to_owned(), us(ratio.base_ns), us(ratio.candidate_ns), text]
}

fn differences(pair: &Pair, width: usize) -> Vec<Vec<String>> {
    let differences = &pair.differences;
    vec![
        difference_block("Machine and kernel", Some(&differences.facts), width),
        difference_block("Kernel command line", differences.command_line.as_ref(), width),
        difference_block("Kernel configuration", differences.config.as_ref(), width),
    ]
}

fn difference_block(title: &str, list: Option<&Vec<Difference>>, width: usize) -> Vec<String> {
    let Some(list) = list else { return vec![format!("{title}: not known of both")] };
    if list.is_empty() {
        return vec![format!("{title}: no difference")];
    }
    let side = |value: &Option<String>| {
        value.as_ref().map_or_else(|| "not there".to_owned(), |text| short(&harmless(text), VALUE_MAX))
    };
    let mut table = Table::of_words(&[title, "base", "candidate"]);
    for one in list {
        table.push(vec![short(&harmless(&one.name), VALUE_MAX), side(&one.base), side(&one.candidate)]);
    }
    table.lines(width)
}
