//! What the report shows of two or more runs side by side.

use serde::Serialize;
use tardy_analyse::compare::{Comparison, Pair, RowPair};
use tardy_analyse::difference::Difference;
use tardy_analyse::findings::{self, Findings};
use tardy_analyse::name::Readings;
use tardy_record::Run;

use super::plots::{self, Marks, PlotView};
use super::published_view;
use super::run_tables::TableView;
use crate::compare::{DESCRIPTIVE, pooled, shape_text};
use crate::latency::{at_least, harmless, microseconds, short};
use crate::plot::{self, curve};
use crate::{lab, noise};

/// Longer lists of differences are folded away.
const UNFOLDED_MAX: usize = 24;

/// The comparison.
#[derive(Debug, Serialize)]
pub(super) struct ComparisonView {
    sides: Vec<SideView>,
    pairs: Vec<PairView>,
    whose: Vec<String>,
    descriptive: &'static str,
    curves_of: String,
    /// Whether its values are lengths of gaps.
    gaps: bool,
    published: Option<TableView>,
    latency: Option<PlotView>,
    exceedance: Option<PlotView>,
}

#[derive(Debug, Serialize)]
struct SideView {
    name: String,
    headline: String,
    valid: bool,
    alarm: Option<String>,
    anchor: String,
}

#[derive(Debug, Serialize)]
struct PairView {
    base: String,
    candidate: String,
    obstacles: Vec<String>,
    paired: Vec<String>,
    unmatched: Vec<String>,
    nothing: Option<String>,
    rows: Vec<RowView>,
    noise: Option<TableView>,
    differences: Vec<DifferencesView>,
}

#[derive(Debug, Serialize)]
struct RowView {
    title: String,
    is_all: bool,
    statistics: Vec<StatisticView>,
    shape: Option<String>,
}

#[derive(Debug, Serialize)]
struct StatisticView {
    name: &'static str,
    base: String,
    candidate: String,
    ratio: String,
}

#[derive(Debug, Serialize)]
struct DifferencesView {
    title: &'static str,
    known: bool,
    /// Whether there are so many that they are folded away.
    many: bool,
    rows: Vec<[String; 3]>,
}

/// `prefix` is what the ids of everything in it begin with, and `found` says what each of `runs` came to.
pub(super) fn of(
    runs: &[&Run],
    found: &[Findings],
    comparison: &Comparison,
    options: &findings::Options<'_>,
    prefix: &str,
) -> ComparisonView {
    let names = curve::names(runs);
    let limit_ns = options.limit_ns.or(runs.first().and_then(|run| run.plan.limit_ns));
    let marks = Marks { limit_ns, mark: plot::mark(runs), readings: Readings::of_runs(runs) };
    let curves = curve::curves(runs);
    let phased = runs.iter().any(|run| run.phases.len() > 1);
    let curves_of = curve::shared(runs).map_or_else(
        || match (phased, curve::shared_phases(runs)) {
            (true, None) => "All CPUs and phases of each run".to_owned(),
            (true, Some(_)) => "Each phase of each run, all its CPUs".to_owned(),
            (false, _) => "All CPUs of each run".to_owned(),
        },
        |shared| format!("Only {}, which all runs have", harmless(&shared.join(" + "))),
    );
    let undrawn = curve::undrawn(runs);
    let curves_of = match undrawn.is_empty() {
        true => curves_of,
        false => format!("{curves_of}; there is no distribution of {}", undrawn.join(", ")),
    };
    let side = |(index, (run, name)): (usize, (&&Run, &String))| SideView {
        name: name.clone(),
        headline: harmless(&run.headline()),
        valid: run.validity.valid,
        alarm: lab::alarm(run),
        anchor: format!("{prefix}run{}", index + 1),
    };
    ComparisonView {
        sides: runs.iter().zip(&names).enumerate().map(side).collect(),
        pairs: comparison
            .candidates
            .iter()
            .zip(names.iter().skip(1))
            .map(|(pair, name)| pair_view(pair, &names[0], name))
            .collect(),
        descriptive: DESCRIPTIVE,
        whose: whose(runs),
        curves_of,
        gaps: marks.readings == Readings::Gaps,
        published: published_view::overview(&names.iter().zip(found).collect::<Vec<_>>()),
        latency: plots::latency(
            &format!("{prefix}compare-latency"),
            if curve::shared(runs).is_none() {
                "How late, all CPUs of each run"
            } else {
                "How late, the CPUs that all runs have"
            },
            &curves,
            marks,
        ),
        exceedance: plots::exceedance(&format!("{prefix}compare-exceedance"), &curves, marks),
    }
}

/// Whose latencies these are; of machines of one kind it is said once.
fn whose(runs: &[&Run]) -> Vec<String> {
    let mut whose: Vec<String> = runs.iter().filter_map(|run| lab::whose(run)).collect();
    whose.dedup();
    whose
}

fn pair_view(pair: &Pair, base: &str, candidate: &str) -> PairView {
    let differences = &pair.differences;
    let known = |title, list: Option<&Vec<Difference>>| DifferencesView {
        title,
        known: list.is_some(),
        many: list.is_some_and(|list| list.len() > UNFOLDED_MAX),
        rows: list.map_or_else(Vec::new, |list| list.iter().map(difference).collect()),
    };
    PairView {
        base: base.to_owned(),
        candidate: candidate.to_owned(),
        obstacles: pair.not_comparable_because.iter().map(|reason| harmless(reason)).collect(),
        paired: pair.paired.iter().map(|text| harmless(text)).collect(),
        unmatched: pair.unmatched.iter().map(|text| harmless(text)).collect(),
        nothing: pair.nothing_because.as_deref().map(harmless),
        rows: pair.rows.iter().map(row_view).collect(),
        noise: (!pair.noise.is_empty())
            .then(|| TableView { heads: noise::PAIR_HEADS.to_vec(), rows: noise::pair_rows(&pair.noise) }),
        differences: vec![
            known("Machine and kernel", Some(&differences.facts)),
            known("Kernel command line", differences.command_line.as_ref()),
            known("Kernel configuration", differences.config.as_ref()),
        ],
    }
}

fn row_view(row: &RowPair) -> RowView {
    let us = |ns: Option<f64>, is_least| {
        ns.map_or_else(|| "n/a".to_owned(), |ns| at_least(microseconds(ns).replace('-', "−"), is_least))
    };
    let statistic = |ratio: &tardy_analyse::compare::Ratio| StatisticView {
        name: ratio.name,
        base: us(ratio.base_ns, ratio.base_at_least),
        candidate: us(ratio.candidate_ns, ratio.candidate_at_least),
        ratio: ratio.ratio.map_or_else(|| "–".to_owned(), crate::latency::ratio),
    };
    let shape = row.shape.map(|shape| shape_text(&shape, row.readings, "µs"));
    let is_all = row.label == "all";
    let of = if is_all { pooled(row) } else { row.label.clone() };
    RowView {
        title: format!("{}, {}", short(&harmless(&row.phase), 40), short(&harmless(&of), 60)),
        is_all,
        statistics: row.ratios.iter().map(statistic).collect(),
        shape,
    }
}

fn difference(difference: &Difference) -> [String; 3] {
    let side =
        |value: &Option<String>| value.as_ref().map_or_else(|| "not there".to_owned(), |text| harmless(text));
    [harmless(&difference.name), side(&difference.base), side(&difference.candidate)]
}
