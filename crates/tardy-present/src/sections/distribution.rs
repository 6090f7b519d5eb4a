//! The distribution of each phase: a row for each series, the histogram, key numbers, and the result in one sentence.

use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_analyse::pool::{self, Quoted};
use tardy_analyse::row::Row;
use tardy_record::{Run, Series};

use super::intervals;
use crate::bars;
use crate::figures::latency as latency_figure;
use crate::page::{Element, KeyNumber, Page, PageTable, Place, figure, heading, paragraph};
use crate::section::{Block, Context, Part, Section, Text};
use crate::table::Table;
use crate::terminal_text::{Style, typographic};
use tardy_plot::curve;
use tardy_plot::numbers::{
    self, at_least, count, harmless, microseconds, rounded, short, three_digits, typeset,
};
use tardy_plot::worst_cpus::{self, Rows};

/// The terminal shows histograms and intervals only for runs with at most this many phases.
const DETAILED_PHASE_MAX: usize = 3;
/// Longer labels are shortened in the terminal's tables.
const LABEL_MAX: usize = 28;
/// From this count on, a number in large print has three digits.
const BILLION: u64 = 1_000_000_000;
/// Longer labels are shortened in a page's tables.
const PAGE_LABEL_MAX: usize = 40;

const NO_SERIES: &str = "Nothing was measured in this phase.";
const CORRECTED: &str =
    "Mean and quantiles are of the corrected histogram: every missed period counts as a late wake-up.";
const NOTHING_MISSED: &str =
    "Mean and quantiles are of the corrected histogram; no period was missed, so it equals the measured one.";
const NO_SCHEDULE: &str = "A dash under missed means that there is no schedule, or that it is unknown: mean and \
                           quantiles are then of the measured values, and may hide stalls.";
const TOO_FEW: &str = "n/a: too few wake-ups to determine that quantile.";
const TOO_FEW_OR_EXTREMES: &str =
    "n/a: too few wake-ups to determine that quantile, or a file with only their minimum and maximum.";

/// Heads of a table of rows.
const HEADS: [&str; 10] = ["us", "recorded", "missed", "min", "mean", "p50", "p99", "p99.9", "p99.99", "max"];

/// The distributions.
pub struct Distribution;

impl Section for Distribution {
    fn name(&self) -> &'static str {
        "distribution"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        for phase in &context.findings.phases {
            let mut block = text.block();
            block.paragraph(Style::Plain, &title(context, phase));
            if phase.rows.is_empty() {
                block.line(Style::Plain, NO_SERIES);
            } else {
                block.line(Style::Plain, "");
                let rows = Rows::of(&phase.rows, phase.readings);
                block.table(&table(rows.shown.iter().copied().chain(all_of(phase)), LABEL_MAX));
                if let Some(line) = rows.line() {
                    block.paragraph(Style::Faint, &format!("{line}; 'tardy show --json' has each"));
                }
                if let Some(line) = intervals::line(phase).filter(|_| is_detailed(context)) {
                    block.paragraph(Style::Faint, &line);
                }
                histogram(context, phase, text.width(), &mut block);
            }
            text.add(Part::Results, block);
        }
        if let Some(sentence) = sentence(context) {
            text.add_paragraph(Part::Conclusion, Style::Plain, &sentence);
        }
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        page.add(Place::Lead, sentence(context).map(|text| paragraph("lead", &text)));
        page.add(Place::Numbers, numbers(context));
        let marks = page.marks();
        // The section on noise plots the lengths of gaps.
        if marks.readings != Readings::Gaps {
            let curves = curve::curves(&[context.run]);
            let id = page.plot_id("latency");
            let caption = format!(
                "Number of {} by {}. The horizontal axis is linear and counts are on a logarithmic axis, so that a single \
                 late one is visible next to a million punctual ones. Ticks below the axis mark the maxima.{}",
                marks.readings.name(),
                marks.words.quantity,
                drawn_of_many(context.run)
            );
            page.add(
                Place::Plot,
                figure(latency_figure(&id, marks.words.distribution, &curves, marks), &caption),
            );
        }
        for phase in &context.findings.phases {
            let elements = [heading(3, title(context, phase))].into_iter().chain(rows(phase));
            page.add(Place::Rows, elements.chain(intervals::table(phase)));
        }
    }

    fn notes(&self, context: &Context<'_>) -> Vec<String> {
        table_notes(context)
    }
}

/// The table of a phase; of many CPUs the rows of the worst, and a folded table of the others.
fn rows(phase: &PhaseFindings) -> Vec<Element> {
    if phase.rows.is_empty() {
        return vec![paragraph("", NO_SERIES)];
    }
    let rows = Rows::of(&phase.rows, phase.readings);
    let table = Element::Table(page_table(rows.shown.iter().copied(), all_of(phase)));
    let rest = rows.line().map(|line| Element::Rest {
        summary: typographic(&line),
        elements: vec![Element::Table(page_table(rows.folded.iter().copied(), None))],
    });
    std::iter::once(table).chain(rest).collect()
}

/// The row of all series of a phase, if it has several.
fn all_of(phase: &PhaseFindings) -> Option<&Row> {
    phase.all.as_ref().filter(|_| phase.rows.len() > 1)
}

/// How a phase was measured: `clock_nanosleep every 1ms, SCHED_FIFO 90, load doload, for 1m`.
fn title(context: &Context<'_>, phase: &PhaseFindings) -> String {
    let several = context.findings.phases.len() > 1;
    let mut parts = Vec::new();
    if several {
        parts.push(format!("Phase {}: {}", phase.phase + 1, harmless(&phase.label)));
    }
    let measurement = context.measurement_of(phase);
    parts.extend(measurement.and_then(|measurement| measurement.method(context.run, phase, several)));
    parts.push(match phase.loads.as_slice() {
        [] => "no load".to_owned(),
        loads => format!("load {}", harmless(&loads.join(" + "))),
    });
    parts.extend(phase.measured_ns.map(|ns| format!("for {}", rounded(ns))));
    parts.join(", ")
}

/// The end of a caption that states which of many CPUs are drawn; empty if all are.
pub(super) fn drawn_of_many(run: &Run) -> String {
    curve::left_out(run).map_or_else(String::new, |left_out| {
        let all = left_out + worst_cpus::SHOWN_MAX;
        format!(" The {} worst of {all} are drawn, and all together.", worst_cpus::SHOWN_MAX)
    })
}

/// A table of rows for the terminal.
pub(super) fn table<'a>(rows: impl Iterator<Item = &'a Row>, label_max: usize) -> Table {
    let mut table = Table::new(&HEADS);
    rows.for_each(|row| table.push(cells(row, label_max)));
    table
}

/// A table of rows for a page; `foot` is the emphasised last row.
pub(super) fn page_table<'a>(rows: impl Iterator<Item = &'a Row>, foot: Option<&'a Row>) -> PageTable {
    let mut page = PageTable::typeset("latencies", &table(rows.chain(foot), PAGE_LABEL_MAX));
    page.foot = foot.and_then(|_| page.bodies.first_mut()?.pop());
    PageTable { named: true, ..page }
}

fn cells(row: &Row, label_max: usize) -> Vec<String> {
    let us = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), microseconds);
    let mut cells = vec![
        short(&harmless(&row.label), label_max),
        count(row.recorded),
        row.missed_shown().map_or_else(|| "-".to_owned(), count),
        us(row.min_ns.map(|ns| ns as f64)),
        us(row.mean_ns),
    ];
    cells.extend(row.quantiles.iter().map(|quantile| numbers::quantile(quantile.value)));
    cells.push(numbers::highest(row.max_ns, row.max_at_least, "-"));
    cells
}

/// Whether there are so few phases that the terminal shows more than a table of each.
fn is_detailed(context: &Context<'_>) -> bool {
    context.findings.phases.len() <= DETAILED_PHASE_MAX
}

/// The histogram of a phase in characters, if there are few phases and its series can be pooled.
fn histogram(context: &Context<'_>, phase: &PhaseFindings, width: usize, block: &mut Block) {
    if !is_detailed(context) || phase.all.is_none() {
        return;
    }
    let series: Vec<&Series> = phase.series.iter().map(|index| &context.run.series[*index]).collect();
    let Ok(pool) = pool::of(&series) else { return };
    let drawing = bars::lines(&pool.histogram, phase.readings.name(), width);
    if let Some((axis, bars)) = drawing.split_first() {
        block.line(Style::Plain, "");
        block.line(Style::Faint, axis);
        bars.iter().for_each(|bar| block.line(Style::Plain, bar));
    }
}

/// The result of a run with one phase; `None` for several phases, which tables compare.
fn sentence(context: &Context<'_>) -> Option<String> {
    let [phase] = context.findings.phases.as_slice() else { return None };
    context.describing(phase.readings)?.sentence(phase)
}

/// Notes on the histogram that quantiles are quoted from, and on missing values.
fn table_notes(context: &Context<'_>) -> Vec<String> {
    let may_have_schedule = |phase: &&PhaseFindings| {
        context.describing(phase.readings).is_none_or(|measurement| measurement.may_have_schedule(phase))
    };
    let phases = || context.findings.phases.iter().filter(may_have_schedule);
    let rows = || phases().flat_map(|phase| phase.rows.iter().chain(&phase.all));
    if rows().all(|row| row.recorded == 0) {
        return Vec::new();
    }
    let corrected = rows().filter(|row| row.quoted == Quoted::Corrected).count();
    let missed = rows().any(|row| row.missed.get().is_some_and(|missed| missed > 0));
    let mut notes = Vec::new();
    if corrected > 0 {
        notes.push(if missed { CORRECTED } else { NOTHING_MISSED });
    }
    if corrected < rows().count() {
        notes.push(NO_SCHEDULE);
    }
    if rows().any(|row| row.quantiles.iter().any(|quantile| quantile.value.is_none())) {
        notes.push(if context.run.is_imported() { TOO_FEW_OR_EXTREMES } else { TOO_FEW });
    }
    notes.into_iter().map(str::to_owned).collect()
}

/// Key numbers: those of latencies if there are any, or else of lengths. The section on noise adds those of gaps.
fn numbers(context: &Context<'_>) -> Option<Element> {
    let main = Readings::of_runs(&[context.run]);
    if main == Readings::Gaps {
        return None;
    }
    let phases = context.findings.phases.iter();
    let phases: Vec<&PhaseFindings> = phases.filter(|phase| phase.readings.shares_axis_with(main)).collect();
    let numbers = key_numbers(context, &phases);
    (!numbers.is_empty()).then_some(Element::Numbers { numbers })
}

fn key_numbers(context: &Context<'_>, phases: &[&PhaseFindings]) -> Vec<KeyNumber> {
    let rows = phases.iter().flat_map(|phase| phase.rows.iter().map(move |row| (phase, row)));
    let worst = rows.filter_map(|(phase, row)| Some((row.max_ns?, phase, row))).max_by_key(|(max, ..)| *max);
    let (Some((max_ns, phase, row)), Some(first)) = (worst, phases.first()) else { return Vec::new() };
    let is_least = phases.iter().any(|phase| phase.rows.iter().any(|row| row.max_at_least));
    let single = phases.len() == 1;
    let place = match single {
        true => harmless(&row.label),
        false => format!("{}, {}", harmless(&row.label), harmless(&phase.label)),
    };
    let at = row.max_at_ns.map_or_else(String::new, |ns| format!(", after {}", rounded(ns)));
    let mut numbers = vec![KeyNumber::new(
        "worst",
        &at_least(typeset(max_ns as f64), is_least),
        short(&format!("{place}{at}"), 60),
    )];
    if let Some(all) = first.all.as_ref().filter(|_| single) {
        let more = super::words(context.sections, first.readings).more;
        for (level, name, share) in
            [("p99.99", "p99.99", "1 in 10,000"), ("p99", "p99", "1 in 100"), ("p50", "median", "half")]
        {
            let found = all.quantiles.iter().find(|quantile| quantile.level == level);
            if let Some(value) = found.and_then(|quantile| quantile.value) {
                let figure = at_least(typeset(value.quoted_ns() as f64), value.at_least);
                let interval = intervals::with_unit(&value).filter(|_| level != "p50");
                let interval = interval.map_or_else(String::new, |text| format!(" (95 %: {text})"));
                numbers.push(KeyNumber::new(name, &figure, format!("{share} {more}{interval}")));
            }
        }
    }
    let total: u64 = phases.iter().filter_map(|phase| phase.all.as_ref()).map(|all| all.quoted_count).sum();
    let missed: u64 = phases.iter().flat_map(|phase| &phase.rows).filter_map(|row| row.missed.get()).sum();
    let measured: u64 = phases.iter().filter_map(|phase| phase.measured_ns).sum();
    let note = if measured > 0 { format!("in {}", rounded(measured)) } else { String::new() };
    let note = if missed > 0 { format!("{note}, {} missed", count(missed)) } else { note };
    let total = match total {
        BILLION.. => format!("{}\u{a0}billion", three_digits(total as f64 / BILLION as f64)),
        _ => count(total),
    };
    numbers.push(KeyNumber::new(first.readings.name(), &total, note));
    numbers
}
