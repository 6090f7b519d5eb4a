//! The worst readings of each series, and the counters that changed around them.

use tardy_analyse::name::{self, Readings};
use tardy_record::Run;
use tardy_record::series::{CHECKPOINT, Change, Outlier, Series};

use crate::page::{Cell, Element, Page, PageRow, PageTable, Place, heading, paragraph};
use crate::section::{Context, Section};
use tardy_plot::numbers::{count, counted, harmless, microseconds, short, three_digits, typeset};
use tardy_plot::worst_cpus;

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
        let fold = |(index, one): (usize, &&Series)| Element::Fold {
            summary: title(run, one),
            open: index == 0,
            elements: readings(&one.worst),
        };
        match is_many {
            true => elements.extend(of_many(run, &series)),
            false => elements.extend(series.iter().enumerate().map(fold)),
        }
        page.add(Place::After, elements);
    }
}

/// The first readings of the worst of many CPUs; folded, its others, those of the other worst CPUs, and the worst
/// reading of each remaining CPU.
fn of_many(run: &Run, series: &[&Series]) -> Vec<Element> {
    let [worst, others @ ..] = series else { return Vec::new() };
    let folded = |summary, elements| Element::Rest { summary, elements };
    let (shown, remaining) = others.split_at(others.len().min(worst_cpus::SHOWN_MAX - 1));
    let shown = shown.iter().map(|one| folded(title(run, one), vec![Element::Table(table(&one.worst))]));
    let remaining = [
        paragraph("note", &format!("The worst reading of each of {} more:", remaining.len())),
        Element::Table(worst_of_each(run, remaining)),
    ];
    let range = [others.last(), others.first()].map(|one| {
        let worst = one.and_then(|one| one.worst.first());
        worst.map_or_else(String::new, |worst| typeset(worst.latency_ns as f64))
    });
    vec![
        Element::Fold { summary: title(run, worst), open: true, elements: readings(&worst.worst) },
        folded(
            format!("{} more: worst {} to {}", others.len(), range[0], range[1]),
            shown.chain(remaining).collect(),
        ),
    ]
}

/// The first readings, and the others folded.
fn readings(all: &[Outlier]) -> Vec<Element> {
    let (first, more) = all.split_at(all.len().min(worst_cpus::SHOWN_MAX));
    let summary = counted(more.len() as u64, "more reading", "more readings");
    let more =
        (!more.is_empty()).then(|| Element::Rest { summary, elements: vec![Element::Table(table(more))] });
    std::iter::once(Element::Table(table(first))).chain(more).collect()
}

/// A row for each of these series with its worst reading.
fn worst_of_each(run: &Run, series: &[&Series]) -> PageTable {
    let row = |one: &&Series| {
        let worst = one.worst.first()?;
        let head = Cell::Text(format!("{}{}", label(one), phase(run, one)));
        let cells = std::iter::once(head).chain(cells(worst)).collect();
        Some(PageRow { class: "", cells })
    };
    let heads = ["", "µs", "at, s", "cycle", "around it"];
    let bodies = vec![series.iter().filter_map(row).collect()];
    PageTable { tall: true, bodies, ..PageTable::new("outliers named", &heads, Vec::new()) }
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
        Cell::Lines(around(outlier)),
    ]
}

/// What the watchers detected around an outlier, the most unusual first.
pub fn around(outlier: &Outlier) -> Vec<String> {
    own_read(outlier).into_iter().chain(outlier.around.iter().map(change)).collect()
}

/// tardy's own activity while the thread was due.
fn own_read(outlier: &Outlier) -> Option<String> {
    outlier.overlaps.as_ref().map(|watcher| match watcher.as_str() {
        CHECKPOINT => "tardy itself was writing the run file on this CPU".to_owned(),
        watcher => format!("tardy itself was reading {} on this CPU", harmless(watcher)),
    })
}

fn change(change: &Change) -> String {
    let unit = if change.unit.is_empty() { String::new() } else { format!(" {}", harmless(&change.unit)) };
    format!("{}: {}{unit}, usually {}", harmless(&change.what), figure(change.by), figure(change.usual))
}

/// A number with three digits, or in scientific notation if it is below 0.01.
fn figure(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { format!("{value:.1e}") } else { three_digits(value) }
}
