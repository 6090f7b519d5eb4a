//! The part of the report that compares two or more runs.

use serde::Serialize;
use tardy_analyse::compare::{Comparison, Pair, Ratio, RowPair};
use tardy_analyse::difference::Difference;
use tardy_analyse::findings::{self, Findings};
use tardy_analyse::published::{Match, Ours, Sameness};
use tardy_record::Run;

use super::run_page::marks;
use crate::compare::{DESCRIPTIVE, pooled, shape_text};
use crate::figures::{self, Marks};
use crate::latency::{at_least, harmless, microseconds, ratio, short};
use crate::page::{Element, PageTable, figure, heading, paragraph, paragraphs};
use crate::plot::curve::{self, Curve};
use crate::section::Section;
use crate::{lab, published};

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
    obstacles: Vec<ObstaclesView>,
    whose: Vec<String>,
    descriptive: &'static str,
    sections: Vec<Vec<Element>>,
}

#[derive(Debug, Serialize)]
pub(super) struct SideView {
    name: String,
    headline: String,
    valid: bool,
    alarm: Option<String>,
    anchor: String,
}

/// Why two runs are not comparable.
#[derive(Debug, Serialize)]
struct ObstaclesView {
    base: String,
    candidate: String,
    reasons: Vec<String>,
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
    let pairs: Vec<(&Pair, &str)> =
        comparison.candidates.iter().zip(names.iter().skip(1).map(String::as_str)).collect();
    let obstacles = |(pair, candidate): &(&Pair, &str)| ObstaclesView {
        base: names[0].clone(),
        candidate: (*candidate).to_owned(),
        reasons: pair.not_comparable_because.iter().map(|reason| harmless(reason)).collect(),
    };
    let side = |(index, (run, name)): (usize, (&&Run, &String))| SideView {
        name: name.clone(),
        headline: harmless(&run.headline()),
        valid: run.validity.valid,
        alarm: lab::alarm(run),
        anchor: format!("{prefix}run{}", index + 1),
    };
    let mut shown = vec![distribution(sections, runs, &pairs, &names[0], &curves, marks, prefix)];
    shown.extend(published_section(&names, found));
    shown.extend(tail(runs, &curves, marks, prefix));
    shown.push(differences(&pairs, &names[0]));
    ComparisonView {
        sides: runs.iter().zip(&names).enumerate().map(side).collect(),
        obstacles: pairs.iter().map(obstacles).filter(|one| !one.reasons.is_empty()).collect(),
        whose: whose(runs),
        descriptive: DESCRIPTIVE,
        sections: shown,
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
    pairs: &[(&Pair, &str)],
    base: &str,
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
    for (pair, candidate) in pairs {
        elements.extend(pair_elements(sections, pair, base, candidate));
    }
    elements
}

fn pair_elements(sections: &[&dyn Section], pair: &Pair, base: &str, candidate: &str) -> Vec<Element> {
    let mut elements = Vec::new();
    let (all, single): (Vec<&RowPair>, Vec<&RowPair>) = pair.rows.iter().partition(|row| row.label == "all");
    for row in all {
        let title = format!("{candidate} against {base}: {}", row_title(row, &pooled(sections, row)));
        elements.push(heading(3, title));
        elements.push(Element::Table(ratios("ratios", row, base, candidate)));
        let shape = row.shape.map(|shape| shape_text(sections, &shape, row.readings, "µs"));
        elements.extend(shape.map(|text| paragraph("note", &text)));
    }
    for (title, table) in sections.iter().filter_map(|section| section.comparison(pair)) {
        elements.extend([heading(3, title), Element::Table(PageTable::typeset("", &table))]);
    }
    let row = |row: &&RowPair| {
        [heading(3, row_title(row, &row.label)), Element::Table(ratios("", row, base, candidate))]
    };
    elements.push(Element::Fold {
        summary: "Each CPU".to_owned(),
        open: false,
        elements: single.iter().flat_map(row).collect(),
    });
    if let Some(reason) = &pair.nothing_because {
        let spans = vec![["Nothing to compare:".to_owned(), format!(" {}.", harmless(reason))]];
        elements.push(Element::Spans { class: "note", spans });
    }
    let notes = |title: &str, texts: &[String]| -> Vec<String> {
        texts.iter().map(|text| format!("{title}: {}.", harmless(text))).collect()
    };
    elements.extend(paragraphs("note", &notes("Compared with each other", &pair.paired)));
    elements.extend(paragraphs("note", &notes("Left out", &pair.unmatched)));
    elements
}

fn row_title(row: &RowPair, of: &str) -> String {
    format!("{}, {}", short(&harmless(&row.phase), 40), short(&harmless(of), 60))
}

/// The statistics of both sides.
fn ratios(class: &'static str, row: &RowPair, base: &str, candidate: &str) -> PageTable {
    let us = |ns: Option<f64>, is_least| {
        ns.map_or_else(|| "n/a".to_owned(), |ns| at_least(microseconds(ns).replace('-', "−"), is_least))
    };
    let statistic = |one: &Ratio| {
        vec![
            one.name.to_owned(),
            us(one.base_ns, one.base_at_least),
            us(one.candidate_ns, one.candidate_at_least),
            one.ratio.map_or_else(|| "–".to_owned(), ratio),
        ]
    };
    PageTable::new(class, &["µs", base, candidate, "ratio"], row.ratios.iter().map(statistic).collect())
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
            crate::latency::highest(ours.max_ns, ours.max_at_least, "–"),
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
fn differences(pairs: &[(&Pair, &str)], base: &str) -> Vec<Element> {
    let mut elements = vec![heading(2, "What differs")];
    for (pair, candidate) in pairs {
        let parts = [
            ("Machine and kernel", Some(&pair.differences.facts)),
            ("Kernel command line", pair.differences.command_line.as_ref()),
            ("Kernel configuration", pair.differences.config.as_ref()),
        ];
        for (title, list) in parts {
            let whose = if pairs.len() > 1 { format!(": {candidate}") } else { String::new() };
            elements.push(heading(3, format!("{title}{whose}")));
            elements.push(difference_list(list, base, candidate));
        }
    }
    elements
}

fn difference_list(list: Option<&Vec<Difference>>, base: &str, candidate: &str) -> Element {
    let Some(list) = list else { return paragraph("", "Not known of both.") };
    if list.is_empty() {
        return paragraph("", "No difference.");
    }
    let side =
        |value: &Option<String>| value.as_ref().map_or_else(|| "absent".to_owned(), |text| harmless(text));
    let row = |one: &Difference| vec![harmless(&one.name), side(&one.base), side(&one.candidate)];
    let rows = list.iter().map(row).collect();
    let table = Element::Table(PageTable::new("facts differences", &["", base, candidate], rows));
    match list.len() > UNFOLDED_MAX {
        true => Element::Fold {
            summary: format!("{} differences", list.len()),
            open: false,
            elements: vec![table],
        },
        false => table,
    }
}
