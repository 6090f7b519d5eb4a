//! Two or more runs compared: quantiles, maxima, ratios, and whether conclusions may be drawn.

pub mod columns;

use serde::Serialize;
use tardy_record::histogram::HistogramError;
use tardy_record::lab::LabClock;
use tardy_record::series::TraceSource;
use tardy_record::{Run, Series};

use crate::comparability;
use crate::difference::{self, Differences};
use crate::pairing::{self, Paired, series_of};
use crate::shape::{self, Shape};
use tardy_analyse::lab;
use tardy_analyse::name::{self, Readings};
use tardy_analyse::pool;
use tardy_analyse::row::{self, Row};
use tardy_analyse::stop;

/// A base run and its candidates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The base.
    pub base: Side,
    /// Each candidate against the base.
    pub candidates: Vec<Pair>,
    /// The strength of its conclusions.
    pub strength: Strength,
}

/// How strong a comparison is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// One run each: it describes these runs, but not whether another boot would show the same. (A test on the pooled
    /// samples would report 93 % of equal kernels as different; docs/statistics.md, section 3.3.)
    DescriptiveOnly,
}

/// An emulated machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SideLab {
    /// Its name, such as `pc`.
    pub machine: String,
    /// The unit that its clock counts.
    pub clock: LabClock,
}

/// One run of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The run's id.
    pub id: String,
    /// Its name: the kernel of a run in the lab, the id of any other.
    pub name: String,
    /// The emulated machine that it ran on; absent for a real one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lab: Option<SideLab>,
    /// Its kernel, in one line.
    pub headline: String,
    /// Whether its numbers may be used.
    pub valid: bool,
    /// The measured time, in ns.
    pub measured_ns: u64,
}

impl Side {
    /// Whether its numbers may be used: it is valid, and its latencies have a meaning.
    pub fn is_usable(&self) -> bool {
        self.valid && self.lab.as_ref().is_none_or(|lab| lab::meaningless_by(lab.clock).is_none())
    }
}

/// A candidate against the base.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The candidate.
    pub candidate: Side,
    /// Reasons why the two are not comparable; empty if they are.
    pub not_comparable_because: Vec<String>,
    /// Conditions that are not known of both, and may differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_conditions: Vec<String>,
    /// The rows of phases and series that both have.
    pub rows: Vec<RowPair>,
    /// Noise, for phases that measured it in both.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<NoisePair>,
    /// Phases and series of one side that the other lacks, and what could not be pooled.
    pub unmatched: Vec<String>,
    /// Phases and series that were compared although their names differ, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paired: Vec<String>,
    /// The reason why nothing could be compared; `None` if something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nothing_because: Option<String>,
    /// The differences between the machines.
    pub differences: Differences,
}

/// The same series in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowPair {
    /// The phase's label in the base.
    pub phase: String,
    /// The series' label, or `all`.
    pub label: String,
    /// For `all`, the series that both have, if one side has others too.
    pub only: Option<Vec<String>>,
    /// What is counted.
    pub readings: Readings,
    /// Its numbers in the base.
    pub base: Row,
    /// Its numbers in the candidate.
    pub candidate: Row,
    /// Their statistics, candidate over base.
    pub ratios: Vec<Ratio>,
    /// The distances between the distributions; only for `all`, and if the bins fit.
    pub shape: Option<Shape>,
}

/// The noise of one CPU in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoisePair {
    /// The phase's label in the base.
    pub phase: String,
    /// The series' label.
    pub label: String,
    /// The share of the time that was lost to noise in the base and in the candidate, from 0 to 1.
    pub share: [f64; 2],
    /// Gaps per second in both.
    pub gaps_per_second: [f64; 2],
}

/// One statistic of both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Its name: `min`, `mean`, a quantile, `max`.
    pub name: &'static str,
    /// The value in the base, in ns; `None` if it is not determined.
    pub base_ns: Option<f64>,
    /// The value in the candidate, in ns.
    pub candidate_ns: Option<f64>,
    /// Whether the value in the base is a lower bound, because it is beyond the histogram.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub base_at_least: bool,
    /// Whether the value in the candidate is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub candidate_at_least: bool,
    /// Candidate over base; `None` if either is absent, beyond the histogram or not positive.
    pub ratio: Option<f64>,
}

impl Comparison {
    /// The same comparison without the numbers of runs that are not comparable with the base.
    pub fn without_incomparable(mut self) -> Self {
        for pair in self.candidates.iter_mut().filter(|pair| !pair.not_comparable_because.is_empty()) {
            pair.rows.clear();
            pair.noise.clear();
        }
        self
    }

    /// Whether no candidate is comparable, and none is compared anyway.
    pub fn is_refused(&self) -> bool {
        let is_refused = |pair: &Pair| {
            !pair.not_comparable_because.is_empty() && pair.rows.is_empty() && pair.noise.is_empty()
        };
        self.candidates.iter().all(is_refused)
    }
}

/// Compares every other run of `runs` with the first; `None` for fewer than two.
pub fn of(runs: &[&Run]) -> Option<Comparison> {
    let pair = |base: &Run, candidate: &Run| Ok(pairing::phases(base, candidate));
    // Pairing fails only for phases that the user named.
    with(runs, pair).unwrap_or_default()
}

/// The same as [`of`] for the phases in `pairs` only, each as `BASE=CANDIDATE`, by label or by number from 1.
///
/// # Errors
/// A message for the user if a run has no such phase, or if two phases count different things.
pub fn of_phases(runs: &[&Run], pairs: &[String]) -> Result<Option<Comparison>, String> {
    with(runs, |base, candidate| pairing::asked(base, candidate, pairs))
}

fn with(
    runs: &[&Run],
    paired: impl Fn(&Run, &Run) -> Result<Paired, String>,
) -> Result<Option<Comparison>, String> {
    let Some((base, candidates)) = runs.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Ok(None);
    };
    let names = name::of_runs(runs);
    let pairs = candidates.iter().zip(&names[1..]);
    let pairs = pairs.map(|(candidate, name)| Ok(pair(base, candidate, name, paired(base, candidate)?)));
    Ok(Some(Comparison {
        base: side(base, &names[0]),
        candidates: pairs.collect::<Result<_, String>>()?,
        strength: Strength::DescriptiveOnly,
    }))
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

fn pair(base: &Run, candidate: &Run, name: &str, paired: Paired) -> Pair {
    let matched = &paired.phases;
    let missing = |run: &Run, taken: &dyn Fn(usize) -> bool, name: &str| -> Vec<String> {
        let left = run.phases.iter().enumerate().filter(|(index, _)| !taken(*index));
        left.map(|(_, phase)| format!("'{}' is in {name} only", phase.label)).collect()
    };
    let mut unmatched = Vec::new();
    if !paired.asked {
        unmatched.extend(missing(base, &|i| matched.iter().any(|(a, _)| *a == i), "the base"));
        unmatched.extend(missing(candidate, &|i| matched.iter().any(|(_, b)| *b == i), "the candidate"));
    }
    let obstacles = comparability::obstacles(base, candidate, matched);
    let mut pair = Pair {
        candidate: side(candidate, name),
        not_comparable_because: obstacles.reasons,
        unknown_conditions: obstacles.unknown,
        noise: matched.iter().flat_map(|(a, b)| noise_pairs(base, *a, candidate, *b)).collect(),
        rows: Vec::new(),
        unmatched,
        paired: paired.notes.clone(),
        nothing_because: None,
        differences: difference::between(base, candidate),
    };
    for (a, b) in matched {
        let phases = Phases::of(base, *a, candidate, *b);
        phases.note_unpaired_series(&mut pair);
        phases.add_rows(&mut pair);
        let cpus: Vec<u32> = phases.paired.iter().map(|(one, _)| one.cpu()).collect();
        let levels = [lower_levels(base, *a, &cpus), lower_levels(candidate, *b, &cpus)];
        pair.rows.extend(level_rows(phases.label, &levels[0], &levels[1]));
    }
    pair.nothing_because = nothing_because(base, candidate, &paired, &pair);
    pair
}

/// Why nothing could be compared; `None` if something was.
fn nothing_because(base: &Run, candidate: &Run, paired: &Paired, pair: &Pair) -> Option<String> {
    let is_known =
        |row: &RowPair| row.ratios.iter().any(|one| one.base_ns.is_some() && one.candidate_ns.is_some());
    if pair.rows.iter().any(is_known) || !pair.noise.is_empty() {
        return None;
    }
    let empty = |run: &Run| run.own_series().all(|series| series.tally.recorded == 0);
    Some(match (empty(base), empty(candidate)) {
        (true, true) => "neither run has a reading".to_owned(),
        (true, false) => "the base has no reading".to_owned(),
        (false, true) => "the candidate has no reading".to_owned(),
        (false, false) if !paired.phases.is_empty() => {
            "the matching phases have no statistic that is known for both runs".to_owned()
        }
        (false, false) => match (&base.phases[..], &candidate.phases[..]) {
            ([_], [_]) => pairing::why_not(base, 0, candidate, 0)
                .unwrap_or_else(|| "their phases have nothing comparable".to_owned()),
            _ => format!(
                "the phases cannot be matched: the base has {}; the candidate has {}",
                pairing::all_of(base),
                pairing::all_of(candidate)
            ),
        },
    })
}

/// Two matching phases, with their paired series.
struct Phases<'r> {
    label: &'r str,
    other_label: &'r str,
    ours: Vec<&'r Series>,
    theirs: Vec<&'r Series>,
    paired: Vec<(&'r Series, &'r Series)>,
}

impl<'r> Phases<'r> {
    fn of(base: &'r Run, a: usize, candidate: &'r Run, b: usize) -> Self {
        let (ours, theirs) = (series_of(base, a), series_of(candidate, b));
        let paired = pairing::series(&ours, &theirs);
        Self { label: &base.phases[a].label, other_label: &candidate.phases[b].label, ours, theirs, paired }
    }

    /// Notes the series that were left out, and those that were paired under different names.
    fn note_unpaired_series(&self, pair: &mut Pair) {
        let labels = |series: &[&Series]| {
            series.iter().map(|one| format!("'{}'", one.label)).collect::<Vec<_>>().join(", ")
        };
        if self.paired.is_empty() && !self.ours.is_empty() && !self.theirs.is_empty() {
            pair.paired.push(format!(
                "all of {} with all of {}: no series of '{}' has the same name in both",
                labels(&self.ours),
                labels(&self.theirs),
                self.label
            ));
            return;
        }
        for (one, other) in &self.paired {
            if one.label != other.label {
                pair.paired.push(format!("'{}' with '{}': each is the only series", one.label, other.label));
            }
        }
        let (ours, theirs): (Vec<&Series>, Vec<&Series>) = self.paired.iter().copied().unzip();
        pair.unmatched.extend(lonely_series(&self.ours, &ours, self.label, "the base"));
        pair.unmatched.extend(lonely_series(&self.theirs, &theirs, self.other_label, "the candidate"));
    }

    /// A row for each series, and one for all series; notes which cannot be pooled.
    fn add_rows(&self, pair: &mut Pair) {
        let row = |(one, other): &(&Series, &Series)| RowPair {
            label: name_of_both(one, other),
            ..row_pair(self.label, row::of_series(one), row::of_series(other))
        };
        let rows: Vec<RowPair> = self.paired.iter().map(row).collect();
        let whole = (self.paired.len(), self.paired.len()) == (self.ours.len(), self.theirs.len());
        let only = (!whole && !rows.is_empty()).then(|| rows.iter().map(|row| row.label.clone()).collect());
        pair.rows.extend(rows);
        // If no names agree, all series of one are compared with all of the other.
        let (ours, theirs): (Vec<&Series>, Vec<&Series>) = match self.paired.is_empty() {
            true => alike_of(&self.ours, &self.theirs),
            false => self.paired.iter().copied().unzip(),
        };
        let Some(first) = ours.first() else { return };
        match (row::of_several("all", &ours), row::of_several("all", &theirs)) {
            (Ok(a), Ok(b)) => {
                let shape = pool::of(&ours).ok().zip(pool::of(&theirs).ok());
                let shape = shape.filter(|(a, b)| !a.lacks_its_highest && !b.lacks_its_highest);
                let shape = shape.and_then(|(a, b)| shape::between(&a.histogram, &b.histogram));
                let readings = Readings::of(first);
                pair.rows.push(RowPair { only, readings, shape, ..row_pair(self.label, a, b) });
            }
            (Err(error), _) => pair.note_unpooled(self.label, "base", &error),
            (_, Err(error)) => pair.note_unpooled(self.label, "candidate", &error),
        }
    }
}

impl Pair {
    fn note_unpooled(&mut self, label: &str, side: &str, error: &HistogramError) {
        self.unmatched.push(format!("all of '{label}' together, in the {side}: {error}"));
    }
}

/// Series of a phase that have no counterpart in the other run.
fn lonely_series(all: &[&Series], paired: &[&Series], label: &str, name: &str) -> Vec<String> {
    let lonely = all.iter().filter(|one| {
        stop::check();
        !paired.iter().any(|other| std::ptr::eq(**one, *other))
    });
    lonely.map(|one| format!("'{}' of '{label}' is in {name} only", one.label)).collect()
}

/// The noise of the CPUs that both phases measured.
fn noise_pairs(base: &Run, base_phase: usize, candidate: &Run, candidate_phase: usize) -> Vec<NoisePair> {
    let share =
        |series: &Series| series.sum_ns.get().unwrap_or(0) as f64 / (series.counted_ns as f64).max(1.0);
    let per_second =
        |series: &Series| series.tally.recorded as f64 / (series.counted_ns as f64).max(1.0) * 1e9;
    let theirs = series_of(candidate, candidate_phase);
    let pair = |ours: &Series| {
        stop::check();
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

/// The lower levels of two phases: a row for each level that both have, all CPUs together.
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

/// The series of both sides that are of the same kind as the first one of the base with a counterpart.
fn alike_of<'a, 'b>(ours: &[&'a Series], theirs: &[&'b Series]) -> (Vec<&'a Series>, Vec<&'b Series>) {
    let Some(first) = ours.iter().find(|one| theirs.iter().any(|other| pairing::alike(one, other))) else {
        return (Vec::new(), Vec::new());
    };
    let ours = ours.iter().copied().filter(|one| pairing::alike(first, one)).collect();
    (ours, theirs.iter().copied().filter(|one| pairing::alike(first, one)).collect())
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
    let ratio = |name, base: Figure, candidate: Figure| {
        let ratio = (base.ns.zip(candidate.ns))
            .filter(|(base, other)| *base > 0.0 && *other > 0.0)
            .filter(|_| !base.at_least && !candidate.at_least)
            .map(|(base, other)| other / base);
        Ratio {
            name,
            base_ns: base.ns,
            candidate_ns: candidate.ns,
            base_at_least: base.at_least,
            candidate_at_least: candidate.at_least,
            ratio,
        }
    };
    let exact = |ns: Option<f64>| Figure { ns, at_least: false };
    let whole = |value: Option<i64>| exact(value.map(|ns| ns as f64));
    let quoted = |quantile: &tardy_analyse::quantile::Quantile| Figure {
        ns: quantile.value.map(|value| value.quoted_ns() as f64),
        at_least: quantile.value.is_some_and(|value| value.at_least),
    };
    let mut all = vec![
        ratio("min", whole(base.min_ns), whole(candidate.min_ns)),
        ratio("mean", exact(base.mean_ns), exact(candidate.mean_ns)),
    ];
    let quantiles = base.quantiles.iter().zip(&candidate.quantiles);
    all.extend(quantiles.map(|(a, b)| ratio(a.level, quoted(a), quoted(b))));
    let highest = |row: &Row| Figure { at_least: row.max_at_least, ..whole(row.max_ns) };
    all.push(ratio("max", highest(base), highest(candidate)));
    all
}

/// One statistic of one side.
#[derive(Clone, Copy)]
struct Figure {
    ns: Option<f64>,
    /// Whether the value is a lower bound.
    at_least: bool,
}
