//! The latency at each level between the timer interrupt and the thread.

use tardy_analyse::levels::{EventsCost, LevelRow, Levels as Found};
use tardy_analyse::row::Row;
use tardy_record::load_spec::LoadSpec;
use tardy_record::series::TraceSource;

use crate::page::{Element, Page, PageTable, Place, heading, paragraphs};
use crate::section::{Context, Part, Section, Text};
use crate::table::Table;
use crate::terminal_text::Style;
use tardy_plot::numbers::{self, count, counted, harmless, short, with_unit};

/// The quantiles that the table shows.
const QUANTILES: [&str; 3] = ["p50", "p99", "p99.99"];
/// Longer lists of loads are shortened.
const LOADS_MAX: usize = 28;

/// Heads of the table.
const HEADS: [&str; 8] =
    ["level, us", "source", "recorded", "missed", QUANTILES[0], QUANTILES[1], QUANTILES[2], "max"];

/// Levels.
pub struct Levels;

impl Section for Levels {
    fn name(&self) -> &'static str {
        "levels"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let Some(found) = &context.findings.levels else { return };
        let mut block = text.block();
        block.titled_table("Latency by level, all CPUs and rounds", &table(found));
        block.paragraphs(Style::Faint, &notes(found));
        text.add(Part::Details, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let Some(found) = &context.findings.levels else { return };
        let table = Element::Table(PageTable::typeset("", &table(found)));
        page.add(Place::Breakdown, [heading(3, "Latency by level"), table]);
        page.add(Place::Breakdown, paragraphs("note", &notes(found)));
    }
}

/// The table of levels, the lowest level first.
fn table(levels: &Found) -> Table {
    let several = levels.rows.iter().any(|row| row.loads != levels.rows[0].loads);
    let mut table = Table::new(&HEADS);
    levels.rows.iter().for_each(|row| table.push(cells(row, several)));
    table
}

fn cells(level: &LevelRow, several_loads: bool) -> Vec<String> {
    let Row { recorded, quantiles, max_ns, .. } = &level.row;
    let source = match several_loads {
        true => format!("{}, {}", level.source.name(), under(&level.loads)),
        false => level.source.name().to_owned(),
    };
    let mut cells = vec![
        level.level.name().to_owned(),
        source,
        count(*recorded),
        level.row.missed_shown().map_or_else(|| "-".to_owned(), count),
    ];
    cells.extend(QUANTILES.iter().map(|name| {
        let value =
            quantiles.iter().find(|quantile| quantile.level == *name).and_then(|quantile| quantile.value);
        numbers::quantile(value)
    }));
    cells.push(numbers::highest(*max_ns, level.row.max_at_least, "-"));
    cells
}

fn under(loads: &[LoadSpec]) -> String {
    if loads.is_empty() { "no load".to_owned() } else { short(&harmless(&loads.join(" + ")), LOADS_MAX) }
}

/// Notes to the table: the cost of recording the events, how far the sources agree, and lost events.
fn notes(levels: &Found) -> Vec<String> {
    let several = levels.rows.iter().any(|row| row.loads != levels.rows[0].loads);
    let place =
        |loads: &[LoadSpec]| if several { format!("Under {}: ", under(loads)) } else { String::new() };
    let has = |source: TraceSource| levels.rows.iter().any(|row| row.source == source);
    let mut notes = Vec::new();
    if has(TraceSource::Events) || has(TraceSource::Timerlat) {
        notes.push(
            "The latencies of all levels are relative to the same deadline. No timer was started for a deadline that \
             passed while the thread was late, so lower levels attempted fewer cycles."
                .to_owned(),
        );
    }
    if has(TraceSource::CoKernel) {
        notes.push("A co-kernel's program measures each level in a separate run.".to_owned());
    }
    notes.extend(
        levels.events_cost.iter().map(|cost| format!("{}{}", place(&cost.loads), cost_sentence(cost))),
    );
    for agreement in &levels.agreement {
        let difference = agreement.timerlat_less_events_ns;
        let more = if difference < 0 { "less" } else { "more" };
        let judged = match agreement.within_events_cost {
            Some(true) => ", which is within the cost of recording the events",
            Some(false) => ", which is more than the cost of recording the events",
            None => "",
        };
        notes.push(format!(
            "{}{}: timerlat's median is {} {more} than the events'{judged}.",
            place(&agreement.loads),
            agreement.level.name(),
            with_unit(difference.unsigned_abs() as f64),
        ));
    }
    notes.extend(levels.rows.iter().filter(|row| row.lost_events > 0).take(1).map(|row| {
        let lost = counted(row.lost_events, "event", "events");
        format!("The kernel's buffers lost {lost}; their cycles count as dropped.")
    }));
    if has(TraceSource::Timerlat) {
        notes.push(
            "timerlat has its own thread and its own timer, so its cycles are not those of the events."
                .to_owned(),
        );
    }
    notes
}

fn cost_sentence(cost: &EventsCost) -> String {
    let EventsCost { plain_ns, traced_ns, cost_ns, .. } = cost;
    let medians =
        format!("median {} without, {} with", with_unit(*plain_ns as f64), with_unit(*traced_ns as f64));
    if *cost_ns <= 0 {
        return format!("The cost of recording the events is not distinguishable from chance ({medians}).");
    }
    format!("Recording the events costs {} per wake-up ({medians}).", with_unit(*cost_ns as f64))
}
