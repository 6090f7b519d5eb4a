//! The part of the report that compares two or more runs.

use serde::Serialize;
use tardy_analyse::findings::{self, Findings};
use tardy_analyse::published::{Match, Ours, Sameness};
use tardy_compare::side_by_side::columns::{Columns, DifferenceRow, Figure, PartDifferences, Statistic};
use tardy_compare::side_by_side::{Comparison, Pair};
use tardy_record::Run;

use super::run_page::marks;
use super::script_data;
use crate::compare::{
    differing_value, headline, of_pairs, of_single_cpus, pooled, shape_text, without_difference,
};
use crate::effect::describe_ratio;
use crate::figures::{self, Marks};
use crate::page::{Cell, Element, PageRow, PageTable, figure, heading, paragraph, paragraphs};
use crate::section::Section;
use crate::terminal_text::typographic;
use crate::{lab, published};
use tardy_plot::curve::{self, Curve};
use tardy_plot::numbers::{at_least, harmless, microseconds, short};

/// Longer names of runs are shortened in the headings of tables.
const NAME_MAX: usize = 40;
/// Longer lists of differences are folded away.
const UNFOLDED_MAX: usize = 24;
const PUBLISHED_HEADS: [&str; 6] =
    ["max, µs", "published", "here", "p99.99 here", "measured on", "different"];
const PUBLISHED_NOTE: &str = "Each result is compared with the run on the same kind of kernel, PREEMPT_RT or not. Each run \
                              below lists all circumstances, and marks those that differ or are unknown.";

/// The comparison.
#[derive(Debug, Serialize)]
pub(super) struct ComparisonView {
    /// The runs, the base first.
    pub(super) sides: Vec<SideView>,
    headline: String,
    /// The headline of every run; `None` if they differ.
    shared: Option<String>,
    /// Why the runs are not comparable.
    obstacles: Vec<String>,
    whose: Vec<String>,
    pub(super) sections: Vec<Vec<Element>>,
    /// The beginning of the ids of its plots.
    id: String,
    /// The values of its plots for the page's script, as JSON.
    data: String,
}

#[derive(Debug, Serialize)]
pub(super) struct SideView {
    name: String,
    headline: String,
    valid: bool,
    alarm: Option<String>,
    anchor: String,
}

/// The comparison of `runs`, whose findings are `found`. Every id in it begins with `prefix`.
pub(super) fn of(
    sections: &[&dyn Section],
    runs: &[&Run],
    found: &[Findings],
    comparison: &Comparison,
    options: &findings::Options<'_>,
    prefix: &str,
) -> ComparisonView {
    let names = curve::names(runs);
    let limit_ns = options.limit_ns.or(runs.first().and_then(|run| run.plan.limit_ns));
    let marks = marks(sections, runs, limit_ns);
    let curves = curve::curves(runs);
    let side = |(index, (run, name)): (usize, (&&Run, &String))| SideView {
        name: name.clone(),
        headline: harmless(&run.headline()),
        valid: run.validity.valid,
        alarm: lab::alarm(run),
        anchor: format!("{prefix}run{}", index + 1),
    };
    let mut shown = vec![distribution(sections, runs, comparison, &names, &curves, marks, prefix)];
    shown.extend(published_section(&names, found));
    shown.extend(tail(runs, &curves, marks, prefix));
    shown.push(differences(&comparison.differences(), &comparison.unknown_facts(), &names));
    let shared = runs[0].headline();
    let unknown = of_pairs(comparison, |pair| &pair.unknown_conditions);
    let unknown: Vec<String> = unknown.iter().map(|what| format!("not known of both: {what}")).collect();
    ComparisonView {
        shared: runs.iter().all(|run| run.headline() == shared).then(|| harmless(&shared)),
        sides: runs.iter().zip(&names).enumerate().map(side).collect(),
        headline: typographic(&headline(comparison, &comparison.tables())),
        obstacles: [of_pairs(comparison, |pair| &pair.not_comparable_because), unknown].concat(),
        whose: whose(runs),
        sections: shown,
        id: format!("{prefix}compare"),
        data: script_data::of_comparison(&curves, marks),
    }
}

/// The meaning of a latency on these machines, once for each kind of machine.
fn whose(runs: &[&Run]) -> Vec<String> {
    let mut whose: Vec<String> = runs.iter().filter_map(|run| lab::whose(run)).collect();
    whose.dedup();
    whose
}

/// Names the series that the curves show, for a caption.
fn curves_of(runs: &[&Run]) -> String {
    let phased = runs.iter().any(|run| run.phases.len() > 1);
    let curves_of = curve::shared(runs).map_or_else(
        || match (phased, curve::shared_phases(runs)) {
            (true, None) => "All CPUs and phases of each run".to_owned(),
            (true, Some(_)) => "Each phase of each run, all its CPUs".to_owned(),
            (false, _) => "All CPUs of each run".to_owned(),
        },
        |shared| format!("Only {}, which all runs have", harmless(&shared.join(" + "))),
    );
    match curve::undrawn(runs) {
        undrawn if undrawn.is_empty() => curves_of,
        undrawn => format!("{curves_of}; there is no distribution of {}", undrawn.join(", ")),
    }
}

fn distribution(
    sections: &[&dyn Section],
    runs: &[&Run],
    comparison: &Comparison,
    names: &[String],
    curves: &[Curve],
    marks: Marks,
    prefix: &str,
) -> Vec<Element> {
    let shared = curve::shared(runs).is_some();
    let whose = if shared { "the CPUs that all runs have" } else { "all CPUs of each run" };
    let title = format!("{}, {whose}", marks.words.distribution);
    let plot = figures::latency(&format!("{prefix}compare-latency"), &title, curves, marks);
    let caption =
        format!("{}: {} on a linear axis, counts on a logarithmic one.", curves_of(runs), marks.words.values);
    let mut elements = vec![heading(2, marks.words.distribution)];
    elements.extend(figure(plot, &caption));
    let tables = comparison.tables();
    for table in tables.iter().filter(|table| table.is_pooled()) {
        elements.push(heading(3, table_title(table, &pooled(sections, table))));
        elements.push(Element::Table(statistics(table, names)));
        for (run, shape) in table.runs[1..].iter().zip(&table.shapes) {
            let text = shape.map(|shape| shape_text(sections, &shape, table.readings, "µs", &names[*run]));
            elements.extend(text.map(|text| paragraph("note", &text)));
        }
    }
    for (pair, name) in comparison.candidates.iter().zip(&names[1..]) {
        elements.extend(tables_of_sections(sections, pair, (names.len() > 2).then_some(name)));
    }
    let one = |table: &&Columns<'_>| {
        [heading(3, table_title(table, table.label)), Element::Table(statistics(table, names))]
    };
    let (single, left_out) = of_single_cpus(&tables);
    let of_each: Vec<Element> = single.iter().flat_map(one).collect();
    if left_out > 0 {
        let summary = format!("The worst CPUs; {left_out} more, none with a higher maximum");
        elements.push(Element::Rest { summary, elements: of_each });
    } else if !single.is_empty() {
        elements.push(Element::Fold { summary: "Each CPU".to_owned(), open: false, elements: of_each });
    }
    elements.extend(remarks(comparison));
    elements
}

/// The tables of kinds of measurement that compare two runs in their own way. `candidate` is its name, if there are several.
fn tables_of_sections(sections: &[&dyn Section], pair: &Pair, candidate: Option<&String>) -> Vec<Element> {
    let tables = sections.iter().filter_map(|section| section.comparison(pair));
    let titled = |title: &str| candidate.map_or_else(|| title.to_owned(), |name| format!("{title}: {name}"));
    tables
        .flat_map(|(title, table)| {
            [heading(3, titled(title)), Element::Table(PageTable::typeset("", &table))]
        })
        .collect()
}

/// What was not compared, and what was although its names differ.
fn remarks(comparison: &Comparison) -> Vec<Element> {
    let nothing = |pair: &Pair| {
        let reason = pair.nothing_because.as_ref()?;
        let spans = vec![["Nothing to compare:".to_owned(), format!(" {}.", harmless(reason))]];
        Some(Element::Spans { class: "note", spans })
    };
    let mut elements: Vec<Element> = comparison.candidates.iter().filter_map(nothing).collect();
    let notes = |title: &str, texts: &[String]| -> Vec<String> {
        texts.iter().map(|text| format!("{title}: {text}.")).collect()
    };
    let paired = of_pairs(comparison, |pair| &pair.paired);
    elements.extend(paragraphs("note", &notes("Compared with each other", &paired)));
    let unmatched = of_pairs(comparison, |pair| &pair.unmatched);
    elements.extend(paragraphs("note", &notes("Left out", &unmatched)));
    elements
}

fn table_title(table: &Columns<'_>, of: &str) -> String {
    format!("{}, {}", short(&harmless(table.phase), 40), short(&harmless(of), 60))
}

/// The statistics, a column for each run. Below the value of a candidate is its difference from the base.
fn statistics(table: &Columns<'_>, names: &[String]) -> PageTable {
    let value = |figure: &Figure| tardy_plot::numbers::figure(figure.ns, figure.at_least).replace('-', "−");
    let cell = |figure: &Figure| match figure.ratio {
        None => Cell::Text(value(figure)),
        Some(ratio) => Cell::Lines(vec![value(figure), describe_ratio(ratio)]),
    };
    let row = |statistic: &Statistic| PageRow {
        class: "",
        cells: std::iter::once(Cell::Text(statistic.name.to_owned()))
            .chain(statistic.figures.iter().map(cell))
            .collect(),
    };
    let of_columns = table.runs.iter().map(|run| short(&names[*run], NAME_MAX));
    PageTable {
        class: "stacked statistics",
        named: true,
        heads: std::iter::once("µs".to_owned()).chain(of_columns).collect(),
        bodies: vec![table.statistics.iter().map(row).collect()],
        ..PageTable::default()
    }
}

/// Every published result next to every one of several runs; `None` if no run has one.
fn published_section(names: &[String], found: &[Findings]) -> Option<Vec<Element>> {
    let of_run = |(name, findings): (&String, &Findings)| -> Vec<Vec<String>> {
        let matches = findings.published.iter().flat_map(|compared| &compared.matches);
        matches.flat_map(|one| published_rows(name, one)).collect()
    };
    let rows: Vec<Vec<String>> = names.iter().zip(found).flat_map(of_run).collect();
    (!rows.is_empty()).then(|| {
        vec![
            heading(2, "Compared with the published results"),
            Element::Table(PageTable::new("words-last", &PUBLISHED_HEADS, rows)),
            paragraph("note", PUBLISHED_NOTE),
        ]
    })
}

fn published_rows(name: &str, one: &Match) -> Vec<Vec<String>> {
    let max = published::highest(&one.published).unwrap_or_else(|| "no figure".to_owned());
    let us = |ns: Option<i64>, none: &str| ns.map_or_else(|| none.to_owned(), |ns| microseconds(ns as f64));
    let differs = published::names(one, Sameness::Different).join(", ");
    let row = |ours: &Ours| {
        let of = if one.ours.len() > 1 { format!(", {}", published::label(ours)) } else { String::new() };
        vec![
            harmless(&one.id),
            max.clone(),
            tardy_plot::numbers::highest(ours.max_ns, ours.max_at_least, "–"),
            at_least(us(ours.p9999_ns, "n/a"), ours.p9999_at_least),
            format!("{name}{of}"),
            differs.clone(),
        ]
    };
    one.ours.iter().map(row).collect()
}

fn tail(runs: &[&Run], curves: &[Curve], marks: Marks, prefix: &str) -> Option<Vec<Element>> {
    let plot = figures::exceedance(&format!("{prefix}compare-exceedance"), curves, marks);
    let caption = format!(
        "The share of {} {}; both axes are logarithmic. {}.",
        marks.readings.name(),
        marks.words.exceeding,
        curves_of(runs)
    );
    Some(vec![heading(2, marks.words.tail), figure(plot, &caption)?])
}

/// What differs between the machines.
fn differences(parts: &[PartDifferences], unknown: &[&str], names: &[String]) -> Vec<Element> {
    let mut elements = vec![heading(2, "What differs")];
    for part in parts.iter().filter(|part| !part.rows.is_empty()) {
        elements.push(heading(3, part.part.title()));
        elements.push(difference_table(part, names));
    }
    elements.extend(paragraphs("note", &without_difference(parts, unknown)));
    elements
}

fn difference_table(part: &PartDifferences, names: &[String]) -> Element {
    let row = |row: &DifferenceRow| {
        let values = row.values.iter().map(differing_value);
        std::iter::once(harmless(&row.name)).chain(values).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = part.rows.iter().map(row).collect();
    let heads: Vec<&str> = std::iter::once("").chain(names.iter().map(String::as_str)).collect();
    let table = PageTable { named: true, ..PageTable::new("facts differences stacked", &heads, rows) };
    let table = Element::Table(table);
    match part.rows.len() > UNFOLDED_MAX {
        true => Element::Fold {
            summary: format!("{} differences", part.rows.len()),
            open: false,
            elements: vec![table],
        },
        false => table,
    }
}
