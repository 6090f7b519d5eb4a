//! The worst readings of each series, and the counters that changed around them.

use tardy_analyse::name::{self, Readings};
use tardy_record::Run;
use tardy_record::series::{Change, Outlier, Series};

use crate::latency::{count, harmless, microseconds, short, three_digits, typeset};
use crate::page::{Cell, Element, Page, PageRow, PageTable, Place, heading};
use crate::section::{Context, Section};
use crate::worst_cpus;

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
        let maxima: Vec<Option<i64>> = series.iter().map(|one| one.max_ns).collect();
        let is_many = worst_cpus::of(&maxima).is_some()
            && series.iter().all(|one| worst_cpus::are_of_cpus(Readings::of(one)));
        let others = if is_many { series.split_off(worst_cpus::SHOWN_MAX) } else { Vec::new() };
        for (index, one) in series.into_iter().enumerate() {
            let summary = title(run, one);
            elements.push(match (is_many, index) {
                (true, 0) => Element::Fold { summary, open: true, elements: first_readings(one) },
                (true, _) => Element::Rest { summary, elements: vec![Element::Table(table(&one.worst))] },
                (false, _) => Element::Fold {
                    summary,
                    open: index == 0,
                    elements: vec![Element::Table(table(&one.worst))],
                },
            });
        }
        elements.extend(worst_of_each(run, &others));
        page.add(Place::After, elements);
    }
}

/// A table of the worst readings of the worst of many CPUs, and a folded one of the others.
fn first_readings(series: &Series) -> Vec<Element> {
    let (first, others) = series.worst.split_at(series.worst.len().min(worst_cpus::SHOWN_MAX));
    let rest = (!others.is_empty()).then(|| Element::Rest {
        summary: format!("{} more readings", others.len()),
        elements: vec![Element::Table(table(others))],
    });
    std::iter::once(Element::Table(table(first))).chain(rest).collect()
}

/// The worst reading of each of these series, folded; `None` if there are no series.
fn worst_of_each(run: &Run, series: &[&Series]) -> Option<Element> {
    let (first, last) = (series.first()?.worst.first()?, series.last()?.worst.first()?);
    let row = |one: &&Series| {
        let worst = one.worst.first()?;
        let head = Cell::Text(format!("{}{}", label(one), phase(run, one)));
        let cells = std::iter::once(head).chain(cells(worst)).collect();
        Some(PageRow { class: "", cells })
    };
    let heads = ["", "µs", "at, s", "cycle", "around it"];
    let bodies = vec![series.iter().filter_map(row).collect()];
    let table = PageTable { tall: true, bodies, ..PageTable::new("outliers named", &heads, Vec::new()) };
    let [least, most] = [last, first].map(|worst| typeset(worst.latency_ns as f64));
    Some(Element::Rest {
        summary: format!("{} more: the worst of each, {least} to {most}", series.len()),
        elements: vec![Element::Table(table)],
    })
}

/// The phase of a series after its label; empty if there is only one.
fn phase(run: &Run, series: &Series) -> String {
    match run.phases.get(series.phase) {
        Some(phase) if run.phases.len() > 1 => format!(", {}", harmless(&phase.label)),
        _ => String::new(),
    }
}

fn label(series: &Series) -> String {
    short(&harmless(&name::of(series)), 60)
}

fn title(run: &Run, series: &Series) -> String {
    let (label, phase) = (label(series), phase(run, series));
    let value =
        |outlier: Option<&Outlier>| outlier.map_or_else(String::new, |one| typeset(one.latency_ns as f64));
    let (first, last) = (value(series.worst.first()), value(series.worst.last()));
    format!("{label}{phase}: the {} worst, {first} to {last}", series.worst.len())
}

fn table(readings: &[Outlier]) -> PageTable {
    let row = |outlier: &Outlier| PageRow { class: "", cells: cells(outlier).into() };
    let bodies = vec![readings.iter().map(row).collect()];
    PageTable {
        tall: true,
        bodies,
        ..PageTable::new("outliers", &["µs", "at, s", "cycle", "around it"], Vec::new())
    }
}

fn cells(outlier: &Outlier) -> [Cell; 4] {
    [
        Cell::Text(microseconds(outlier.latency_ns as f64)),
        Cell::Text(format!("{:.3}", outlier.at_ns as f64 / 1e9)),
        Cell::Text(count(outlier.cycle)),
        Cell::Lines(own_read(outlier).into_iter().chain(outlier.around.iter().map(change)).collect()),
    ]
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
