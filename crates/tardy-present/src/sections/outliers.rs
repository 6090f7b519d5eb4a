//! The worst readings of each series, and the counters that changed around them.

use tardy_analyse::name;
use tardy_record::Run;
use tardy_record::series::{Change, Outlier, Series};

use crate::latency::{count, harmless, microseconds, short, three_digits, typeset};
use crate::page::{Cell, Element, Page, PageRow, PageTable, Place, heading};
use crate::section::{Context, Section};

/// The worst readings.
pub struct Outliers;

impl Section for Outliers {
    fn name(&self) -> &'static str {
        "outliers"
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let run = context.run;
        let mut series: Vec<&Series> = run.own_series().filter(|one| !one.worst.is_empty()).collect();
        series.sort_by_key(|one| std::cmp::Reverse(one.max_ns));
        if series.is_empty() {
            return;
        }
        let mut elements = vec![heading(2, "Worst readings, and changes around them")];
        elements.extend(series.into_iter().enumerate().map(|(index, one)| Element::Fold {
            summary: title(run, one),
            open: index == 0,
            elements: vec![Element::Table(table(one))],
        }));
        page.add(Place::After, elements);
    }
}

fn title(run: &Run, series: &Series) -> String {
    let phase = match run.phases.get(series.phase) {
        Some(phase) if run.phases.len() > 1 => format!(", {}", harmless(&phase.label)),
        _ => String::new(),
    };
    let label = short(&harmless(&name::of(series)), 60);
    let value =
        |outlier: Option<&Outlier>| outlier.map_or_else(String::new, |one| typeset(one.latency_ns as f64));
    let (first, last) = (value(series.worst.first()), value(series.worst.last()));
    format!("{label}{phase}: the {} worst, {first} to {last}", series.worst.len())
}

fn table(series: &Series) -> PageTable {
    let row = |outlier: &Outlier| PageRow {
        class: "",
        cells: vec![
            Cell::Text(microseconds(outlier.latency_ns as f64)),
            Cell::Text(format!("{:.3}", outlier.at_ns as f64 / 1e9)),
            Cell::Text(count(outlier.cycle)),
            Cell::Lines(own_read(outlier).into_iter().chain(outlier.around.iter().map(change)).collect()),
        ],
    };
    let bodies = vec![series.worst.iter().map(row).collect()];
    PageTable {
        tall: true,
        bodies,
        ..PageTable::new("outliers", &["µs", "at, s", "cycle", "around it"], Vec::new())
    }
}

/// tardy's own activity while the thread was due.
fn own_read(outlier: &Outlier) -> Option<String> {
    outlier
        .overlaps
        .as_ref()
        .map(|watcher| format!("tardy itself was reading {} on this CPU", harmless(watcher)))
}

fn change(change: &Change) -> String {
    let unit = if change.unit.is_empty() { String::new() } else { format!(" {}", harmless(&change.unit)) };
    format!("{}: {}{unit}, usually {}", harmless(&change.what), figure(change.by), figure(change.usual))
}

/// A number with three digits, or in scientific notation if it is below 0.01.
fn figure(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { format!("{value:.1e}") } else { three_digits(value) }
}
