//! The confidence intervals of quantiles: one line of them in the terminal, a table of them on the page.

use tardy_analyse::phases::PhaseFindings;
use tardy_analyse::quantile::{Quantile, Value};
use tardy_analyse::row::Row;
use tardy_plot::numbers::{self, harmless, microseconds, short, three_digits, typeset};
use tardy_plot::worst_cpus::Rows;

use crate::page::{Element, PageTable, folded_table};
use crate::table::Table;

/// The quantile whose interval the terminal leaves out: it is hardly wider than a bin.
const MEDIAN: &str = "p50";
/// Longer labels are shortened.
const LABEL_MAX: usize = 40;

/// The intervals of all series of a phase together: `95 % intervals: p99 26.0 to 26.4, p99.9 43.8 or more`. `None` if no
/// quantile is determined.
pub(super) fn line(phase: &PhaseFindings) -> Option<String> {
    let all = phase.all.as_ref()?;
    let of = |quantile: &Quantile| Some(format!("{} {}", quantile.level, text(&quantile.value?)?));
    let intervals: Vec<String> =
        all.quantiles.iter().filter(|quantile| quantile.level != MEDIAN).filter_map(of).collect();
    let whose = if phase.rows.len() > 1 { format!(" of {}", all.label) } else { String::new() };
    (!intervals.is_empty()).then(|| format!("95 % intervals{whose}: {}", intervals.join(", ")))
}

/// The interval of a quantile next to its value, in the unit of the value: `671 ms or more`, `8.72 to 15.7 ms`.
pub(super) fn with_unit(value: &Value) -> Option<String> {
    let shown = typeset(value.quoted_ns() as f64);
    let unit = shown.rsplit('\u{a0}').next().unwrap_or("µs");
    let factor = match unit {
        "s" => 1e9,
        "ms" => 1e6,
        _ => 1e3,
    };
    let number = |ns: i64| three_digits(ns as f64 / factor);
    let lower = number(value.confidence_lower_ns.unwrap_or(value.lower_ns));
    match value.confidence_upper_ns.filter(|_| !value.at_least) {
        Some(upper) => Some(format!("{lower} to {}\u{a0}{unit}", number(upper))),
        None => value.confidence_lower_ns.map(|_| format!("{lower}\u{a0}{unit} or more")),
    }
}

/// The interval of a quantile in us: `43.8 to 46.2`; `43.8 or more` if its upper end is not determined.
pub(super) fn text(value: &Value) -> Option<String> {
    let us = |ns: i64| microseconds(ns as f64);
    let lower = value.confidence_lower_ns.unwrap_or(value.lower_ns);
    match value.confidence_upper_ns.filter(|_| !value.at_least) {
        Some(upper) => Some(format!("{} to {}", us(lower), us(upper))),
        None => value.confidence_lower_ns.map(|lower| format!("{} or more", us(lower))),
    }
}

/// The quantiles of a phase with their intervals, as a folded table; `None` if no quantile is determined.
pub(super) fn table(phase: &PhaseFindings) -> Option<Element> {
    let rows = Rows::of(&phase.rows, phase.readings);
    let all = phase.all.as_ref().filter(|_| phase.rows.len() > 1);
    let levels = phase.rows.first()?.quantiles.iter().map(|quantile| quantile.level);
    let heads: Vec<&str> = std::iter::once("us").chain(levels).collect();
    let mut table = Table::new(&heads);
    rows.shown.iter().copied().chain(all).for_each(|row| table.push(cells(row)));
    let page = PageTable { named: true, ..PageTable::typeset("stacked", &table) };
    let is_determined =
        phase.rows.iter().flat_map(|row| &row.quantiles).any(|quantile| quantile.value.is_some());
    folded_table("Quantiles with their 95 % confidence intervals, µs", page).filter(|_| is_determined)
}

fn cells(row: &Row) -> Vec<String> {
    let cell = |quantile: &Quantile| {
        let interval = quantile.value.as_ref().and_then(text);
        let interval = interval.map_or_else(String::new, |interval| format!(" ({interval})"));
        format!("{}{interval}", numbers::quantile(quantile.value))
    };
    std::iter::once(short(&harmless(&row.label), LABEL_MAX)).chain(row.quantiles.iter().map(cell)).collect()
}
