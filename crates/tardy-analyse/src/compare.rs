//! Two or more runs side by side: quantiles, maxima, ratios, and whether any of that may be concluded from.

use serde::Serialize;
use tardy_record::lab::LabClock;
use tardy_record::plan::PhasePlan;
use tardy_record::series::TraceSource;
use tardy_record::{Run, Series};

use crate::comparability;
use crate::difference::{self, Differences};
use crate::name::{self, Readings};
use crate::pool;
use crate::row::{self, Row};
use crate::shape::{self, Shape};

/// A base run and what became of it elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The base.
    pub base: Side,
    /// Each candidate against the base.
    pub candidates: Vec<Pair>,
    /// What this can show and what not: with one run each, nothing about chance.
    pub strength: Strength,
}

/// How much a comparison can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// One run each: it describes these runs. Whether another boot would show the same is not known
    /// (statistics.md 3.3: of two equal kernels, pooled samples call 93 % different).
    DescriptiveOnly,
}

/// What kind of machine an emulated one was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SideLab {
    /// Its name, such as `pc`.
    pub machine: String,
    /// What its clock counts.
    pub clock: LabClock,
}

/// One run of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The run's id.
    pub id: String,
    /// What it is called: the kernel of a run of the lab, the id of any other.
    pub name: String,
    /// The emulated machine that it ran on; absent for a real one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lab: Option<SideLab>,
    /// What its kernel is, in one line.
    pub headline: String,
    /// Whether its numbers may be used.
    pub valid: bool,
    /// For how long it was measured.
    pub measured_ns: u64,
}

/// A candidate against the base.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The candidate.
    pub candidate: Side,
    /// Why the two are not comparable; empty where they are.
    pub not_comparable_because: Vec<String>,
    /// Phases and CPUs that both have, side by side.
    pub rows: Vec<RowPair>,
    /// What took the CPUs in phases that looked for it in both.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<NoisePair>,
    /// Phases and series of one side that the other does not have.
    pub unmatched: Vec<String>,
    /// What differs between the machines.
    pub differences: Differences,
}

/// The same series in both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowPair {
    /// The phase's label in the base.
    pub phase: String,
    /// The series' label, or `all`.
    pub label: String,
    /// For `all`, the series that it pools where one side has others too: only those that both have.
    pub only: Option<Vec<String>>,
    /// What is counted.
    pub readings: Readings,
    /// Its numbers in the base.
    pub base: Row,
    /// Its numbers in the candidate.
    pub candidate: Row,
    /// Their statistics, candidate over base.
    pub ratios: Vec<Ratio>,
    /// How far the distributions lie apart; for `all` only, and where the bins fit.
    pub shape: Option<Shape>,
}

/// The noise of one CPU in both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoisePair {
    /// The phase's label in the base.
    pub phase: String,
    /// The series' label.
    pub label: String,
    /// The share of the time that was taken in the base and in the candidate, from 0 to 1.
    pub share: [f64; 2],
    /// Gaps a second in both.
    pub gaps_per_second: [f64; 2],
}

/// One statistic of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Which: `min`, `mean`, a quantile, `max`.
    pub name: &'static str,
    /// In the base, in ns; absent where it is not determined.
    pub base_ns: Option<f64>,
    /// In the candidate.
    pub candidate_ns: Option<f64>,
    /// Candidate over base; absent where one is absent or not positive: early by nothing has no ratio.
    pub ratio: Option<f64>,
}

/// Compares every other run of `runs` with the first; nothing with fewer than two.
pub fn of(runs: &[&Run]) -> Option<Comparison> {
    let (base, candidates) = runs.split_first()?;
    if candidates.is_empty() {
        return None;
    }
    let names = name::of_runs(runs);
    let pairs = candidates.iter().zip(&names[1..]);
    Some(Comparison {
        base: side(base, &names[0]),
        candidates: pairs.map(|(candidate, name)| pair(base, candidate, name)).collect(),
        strength: Strength::DescriptiveOnly,
    })
}

fn side(run: &Run, name: &str) -> Side {
    Side {
        id: run.origin.id.clone(),
        name: name.to_owned(),
        lab: run.lab.as_ref().map(|lab| SideLab { machine: lab.machine.clone(), clock: lab.clock }),
        headline: run.headline(),
        valid: run.validity.valid,
        measured_ns: run.progress.measured_ns,
    }
}

fn pair(base: &Run, candidate: &Run, name: &str) -> Pair {
    let matched = matching_phases(base, candidate);
    let missing = |run: &Run, taken: &dyn Fn(usize) -> bool, name: &str| -> Vec<String> {
        let left = run.phases.iter().enumerate().filter(|(index, _)| !taken(*index));
        left.map(|(_, phase)| format!("'{}' is in {name} only", phase.label)).collect()
    };
    let mut unmatched = missing(base, &|i| matched.iter().any(|(a, _)| *a == i), "the base");
    unmatched.extend(missing(candidate, &|i| matched.iter().any(|(_, b)| *b == i), "the candidate"));
    for (a, b) in &matched {
        unmatched.extend(lonely_series(base, *a, candidate, *b, "the base"));
        unmatched.extend(lonely_series(candidate, *b, base, *a, "the candidate"));
    }
    Pair {
        candidate: side(candidate, name),
        not_comparable_because: comparability::obstacles(base, candidate),
        noise: matched.iter().flat_map(|(a, b)| noise_pairs(base, *a, candidate, *b)).collect(),
        rows: matched.iter().flat_map(|(a, b)| phase_rows(base, *a, candidate, *b)).collect(),
        unmatched,
        differences: difference::between(base, candidate),
    }
}

/// Phases that belong together: the only ones, or those with the same wake method, loads and round. Of several such,
/// the first goes with the first. What is left then goes by its label.
pub(crate) fn matching_phases(base: &Run, candidate: &Run) -> Vec<(usize, usize)> {
    if base.phases.len() == 1 && candidate.phases.len() == 1 {
        return vec![(0, 0)];
    }
    let mut matched: Vec<(usize, usize)> = Vec::new();
    let same_label =
        |base: &Run, a: usize, candidate: &Run, b: usize| base.phases[a].label == candidate.phases[b].label;
    for same in [same_phase, same_label] {
        for index in 0..base.phases.len() {
            if matched.iter().any(|(taken, _)| *taken == index) {
                continue;
            }
            let free = |other: &usize| matched.iter().all(|(_, taken)| taken != other);
            let found =
                (0..candidate.phases.len()).filter(free).find(|other| same(base, index, candidate, *other));
            matched.extend(found.map(|other| (index, other)));
        }
    }
    matched.sort_unstable();
    matched
}

fn same_phase(base: &Run, phase: usize, candidate: &Run, other: usize) -> bool {
    match (base.plan.phases.get(phase), candidate.plan.phases.get(other)) {
        (Some(a), Some(b)) => {
            let wake = |plan: &PhasePlan| plan.probe.timer().map(|timer| timer.wake);
            (a.probe.name(), wake(a), &a.loads, a.round) == (b.probe.name(), wake(b), &b.loads, b.round)
        }
        _ => base.phases[phase].label == candidate.phases[other].label,
    }
}

/// Series of a phase that have no counterpart in the other run.
fn lonely_series(run: &Run, phase: usize, other: &Run, other_phase: usize, name: &str) -> Vec<String> {
    let theirs = series_of(other, other_phase);
    let lonely =
        series_of(run, phase).into_iter().filter(|one| theirs.iter().all(|their| their.label != one.label));
    lonely.map(|one| format!("'{}' of '{}' is in {name} only", one.label, run.phases[phase].label)).collect()
}

fn series_of(run: &Run, phase: usize) -> Vec<&Series> {
    run.own_series().filter(|series| series.phase == phase).collect()
}

/// The noise of the CPUs that both phases looked at.
fn noise_pairs(base: &Run, base_phase: usize, candidate: &Run, candidate_phase: usize) -> Vec<NoisePair> {
    let share =
        |series: &Series| series.sum_ns.get().unwrap_or(0) as f64 / (series.counted_ns as f64).max(1.0);
    let per_second =
        |series: &Series| series.tally.recorded as f64 / (series.counted_ns as f64).max(1.0) * 1e9;
    let theirs = series_of(candidate, candidate_phase);
    let pair = |ours: &Series| {
        ours.gaps()?;
        let theirs = theirs.iter().find(|theirs| theirs.label == ours.label && theirs.gaps().is_some())?;
        Some(NoisePair {
            phase: base.phases[base_phase].label.clone(),
            label: ours.label.clone(),
            share: [share(ours), share(theirs)],
            gaps_per_second: [per_second(ours), per_second(theirs)],
        })
    };
    series_of(base, base_phase).into_iter().filter_map(pair).collect()
}

/// The lower levels of two phases, like for like: a row for each that both have, all CPUs together.
fn level_rows(phase: &str, base: &[Level<'_>], candidate: &[Level<'_>]) -> Vec<RowPair> {
    let pair = |ours: &Level<'_>| {
        let theirs = candidate.iter().find(|theirs| theirs.key == ours.key)?;
        let label = format!("{}, {}", ours.key.1.name(), ours.key.0.name());
        let (a, b) =
            (row::of_several(&label, &ours.series).ok()?, row::of_several(&label, &theirs.series).ok()?);
        Some(row_pair(phase, a, b))
    };
    base.iter().filter_map(pair).collect()
}

/// One lower level of a phase.
struct Level<'a> {
    key: (TraceSource, tardy_record::series::Level),
    series: Vec<&'a Series>,
}

/// The lower levels of one phase, of the CPUs that both runs measured.
fn lower_levels<'a>(run: &'a Run, phase: usize, cpus: &[u32]) -> Vec<Level<'a>> {
    let mut found: Vec<Level<'a>> = Vec::new();
    for series in run.series.iter().filter(|series| series.phase == phase && cpus.contains(&series.cpu())) {
        let Some(trace) = series.trace().filter(|trace| trace.beside) else { continue };
        let key = (trace.source, series.level);
        match found.iter_mut().find(|level| level.key == key) {
            Some(level) => level.series.push(series),
            None => found.push(Level { key, series: vec![series] }),
        }
    }
    found.sort_by_key(|level| level.key);
    found
}

fn phase_rows(base: &Run, base_phase: usize, candidate: &Run, candidate_phase: usize) -> Vec<RowPair> {
    let (ours, theirs) = (series_of(base, base_phase), series_of(candidate, candidate_phase));
    let label = &base.phases[base_phase].label;
    let mut rows: Vec<RowPair> = Vec::new();
    for series in &ours {
        if let Some(other) = theirs.iter().find(|other| other.label == series.label) {
            rows.push(RowPair {
                label: name_of_both(series, other),
                ..row_pair(label, row::of_series(series), row::of_series(other))
            });
        }
    }
    let (shared_ours, shared_theirs) = (shared(&ours, &theirs), shared(&theirs, &ours));
    if shared_ours.is_empty() {
        return rows;
    }
    let whole = (shared_ours.len(), shared_theirs.len()) == (ours.len(), theirs.len());
    let only = (!whole).then(|| rows.iter().map(|row| row.label.clone()).collect());
    let cpus: Vec<u32> = shared_ours.iter().map(|series| series.cpu()).collect();
    let (ours, theirs) = (shared_ours, shared_theirs);
    if let (Ok(a), Ok(b)) = (row::of_several("all", &ours), row::of_several("all", &theirs)) {
        let shape = pool::of(&ours).ok().zip(pool::of(&theirs).ok());
        let shape = shape.and_then(|(a, b)| shape::between(&a.histogram, &b.histogram));
        let readings = Readings::of(ours[0]);
        rows.push(RowPair { only, readings, shape, ..row_pair(label, a, b) });
    }
    let levels = lower_levels(base, base_phase, &cpus);
    rows.extend(level_rows(label, &levels, &lower_levels(candidate, candidate_phase, &cpus)));
    rows
}

/// Those of `series` that `others` have too.
fn shared<'a>(series: &[&'a Series], others: &[&Series]) -> Vec<&'a Series> {
    series.iter().copied().filter(|one| others.iter().any(|other| other.label == one.label)).collect()
}

fn name_of_both(base: &Series, candidate: &Series) -> String {
    let (a, b) = (name::of(base), name::of(candidate));
    if a == b { a } else { format!("{a} / {b}") }
}

fn row_pair(phase: &str, base: Row, candidate: Row) -> RowPair {
    let ratios = ratios(&base, &candidate);
    RowPair {
        phase: phase.to_owned(),
        label: base.label.clone(),
        only: None,
        readings: Readings::default(),
        base,
        candidate,
        ratios,
        shape: None,
    }
}

fn ratios(base: &Row, candidate: &Row) -> Vec<Ratio> {
    let ratio = |name, base_ns: Option<f64>, candidate_ns: Option<f64>| {
        let ratio = base_ns
            .zip(candidate_ns)
            .filter(|(base, other)| *base > 0.0 && *other > 0.0)
            .map(|(base, other)| other / base);
        Ratio { name, base_ns, candidate_ns, ratio }
    };
    let whole = |value: Option<i64>| value.map(|ns| ns as f64);
    let mut all = vec![
        ratio("min", whole(base.min_ns), whole(candidate.min_ns)),
        ratio("mean", base.mean_ns, candidate.mean_ns),
    ];
    for (a, b) in base.quantiles.iter().zip(&candidate.quantiles) {
        let quoted =
            |quantile: &crate::quantile::Quantile| quantile.value.map(|value| value.quoted_ns() as f64);
        all.push(ratio(a.level, quoted(a), quoted(b)));
    }
    all.push(ratio("max", whole(base.max_ns), whole(candidate.max_ns)));
    all
}
