//! Levels side by side: the same tables and sentences in the terminal and in the report.

use tardy_analyse::levels::{EventsCost, LevelRow, Levels};
use tardy_analyse::row::Row;
use tardy_record::load_spec::LoadSpec;
use tardy_record::series::TraceSource;

use crate::latency::{self, count, harmless, microseconds, short, with_unit};

/// The quantiles that the table shows.
const QUANTILES: [&str; 3] = ["p50", "p99", "p99.99"];
/// Longer lists of loads are shortened.
const LOADS_MAX: usize = 28;

/// The heads of the table; the first column is the level.
pub(crate) const HEADS: [&str; 8] =
    ["level, us", "source", "recorded", "missed", QUANTILES[0], QUANTILES[1], QUANTILES[2], "max"];

/// The rows of the table, the lowest level first.
pub(crate) fn rows(levels: &Levels) -> Vec<Vec<String>> {
    let several = levels.rows.iter().any(|row| row.loads != levels.rows[0].loads);
    levels.rows.iter().map(|row| cells(row, several)).collect()
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
        latency::quantile(value)
    }));
    cells.push(max_ns.map_or_else(|| "-".to_owned(), |ns| microseconds(ns as f64)));
    cells
}

fn under(loads: &[LoadSpec]) -> String {
    if loads.is_empty() { "no load".to_owned() } else { short(&harmless(&loads.join(" + ")), LOADS_MAX) }
}

/// What stands below the table: what the events cost, how far the sources agree, and what was lost.
pub(crate) fn notes(levels: &Levels) -> Vec<String> {
    let several = levels.rows.iter().any(|row| row.loads != levels.rows[0].loads);
    let place =
        |loads: &[LoadSpec]| if several { format!("Under {}: ", under(loads)) } else { String::new() };
    let has = |source: TraceSource| levels.rows.iter().any(|row| row.source == source);
    let mut notes = Vec::new();
    if has(TraceSource::Events) || has(TraceSource::Timerlat) {
        notes.push(
            "Every level counts from the same deadline. A deadline that passed while the thread was late started no \
             timer, so lower levels have attempted fewer."
                .to_owned(),
        );
    }
    if has(TraceSource::CoKernel) {
        notes.push("A co-kernel's program measures each level in a run of its own.".to_owned());
    }
    notes.extend(
        levels.events_cost.iter().map(|cost| format!("{}{}", place(&cost.loads), cost_sentence(cost))),
    );
    for agreement in &levels.agreement {
        let difference = agreement.timerlat_less_events_ns;
        let more = if difference < 0 { "less" } else { "more" };
        let judged = match agreement.within_events_cost {
            Some(true) => ", which is within the events' own cost",
            Some(false) => ", which is more than the events' own cost",
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
        format!(
            "The kernel's buffers lost {} events; the cycles that they were of count as dropped.",
            count(row.lost_events)
        )
    }));
    if has(TraceSource::Timerlat) {
        notes.push(
            "timerlat wakes a thread of its own by a timer of its own, so that its cycles are not the events'."
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
        return format!("What the events themselves cost is less than chance ({medians}).");
    }
    format!("The events themselves cost {} a wake-up ({medians}).", with_unit(*cost_ns as f64))
}
