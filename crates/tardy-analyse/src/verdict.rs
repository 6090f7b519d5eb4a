//! The verdict on a limit: the worst value, the measured time, and the bound that they support.
//!
//! The bound is the highest of the bounds of all series ([`share_limits`]). A bound from the pooled wake-ups of all CPUs
//! would be lower, but assumes that CPUs are late independently of each other, which is wrong if a stall stops all of
//! them. The highest of the bounds is a valid bound for the worst CPU without that assumption.

use serde::Serialize;
use tardy_record::{Run, Series, validity};
use tardy_statistics::duration::values_needed;

use crate::episodes::{self, Episodes};
use crate::isolation::{self, CpusOfKind};
use crate::late;
use crate::name::{self, Readings};
use crate::quantile::CONFIDENCE;
use crate::share_limits::{self, Length};

/// The verdict on a limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The CPUs that it is for, if some of the measured CPUs are isolated and others are not; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpusOfKind>,
    /// The kind of readings that are counted.
    pub readings: Readings,
    /// The limit, in ns.
    pub limit_ns: u64,
    /// The highest value, in ns.
    pub worst_ns: i64,
    /// Whether the highest value is a lower bound: without a late reading, it is then unknown whether the limit was met.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub worst_at_least: bool,
    /// The highest value divided by the limit.
    pub share_of_limit: f64,
    /// Index of its series.
    pub worst_series: usize,
    /// Late wake-ups of all series, at least.
    pub late_at_least: u64,
    /// Late wake-ups of all series, at most.
    pub late_at_most: u64,
    /// Wake-ups of all series, known missed periods included.
    pub wakeups: u64,
    /// The measured time of all phases, in ns.
    pub looked_ns: u64,
    /// Confidence of every bound.
    pub confidence: f64,
    /// What decided how long the run is; absent if it was the plan. Bounds of a run that its data ended are valid at all times.
    #[serde(skip_serializing_if = "Length::is_planned")]
    pub length: Length,
    /// The highest of the series' bounds.
    pub bound: ShareBound,
    /// Every series' bound, in the order of the run.
    pub bounds: Vec<ShareBound>,
    /// The number of wake-ups of a thread, none of them late, that would support a share below one in a million.
    pub wakeups_for_one_in_a_million: u64,
}

/// An upper bound on the share of late wake-ups in one series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareBound {
    /// Index of the series.
    pub series: usize,
    /// The name of the series.
    pub label: String,
    /// Whether its thread was unpinned.
    pub unpinned: bool,
    /// Late wake-ups, at most.
    pub late: u64,
    /// Wake-ups.
    pub wakeups: u64,
    /// Dispersion of the late ones over blocks of time, the highest of several lengths; `None` if it is unknown.
    pub dispersion: Option<f64>,
    /// How many late wake-ups counted as one in the bound ([`share_limits::inflation`]); 1 if they were taken as independent.
    pub inflation: f64,
    /// Whether independent wake-ups vary as much with a probability below 5 %.
    pub clustered: bool,
    /// Whether the limit was given before the run, so that late wake-ups and their episodes were counted exactly.
    pub declared: bool,
    /// The episodes that the late ones came in; `None` if none was late, or if they are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episodes: Option<Episodes>,
    /// The counted time of the series, in ns.
    pub counted_ns: u64,
    /// Upper bound on their share ([`share_limits::upper`]).
    pub upper: f64,
}

/// The verdict of `run` on `limit_ns`; `None` if nothing was recorded.
pub fn of(run: &Run, limit_ns: u64) -> Option<Verdict> {
    of_series(run, limit_ns, None)
}

/// The verdicts of `run` on `limit_ns` for each kind of CPU, isolated ones first; empty if all measured CPUs are of one kind, or
/// if it is not known. The CPUs that carry the load say nothing about those that are kept free of it, and the reverse.
pub fn by_isolation(run: &Run, limit_ns: u64) -> Vec<Verdict> {
    let kinds = isolation::kinds(run);
    kinds.into_iter().filter_map(|cpus| of_series(run, limit_ns, Some(cpus))).collect()
}

/// The verdict of an invalid run whose limit was exceeded although its load weakened; `None` if the limit was not exceeded, or
/// if the run is valid or invalid for another reason.
pub fn exceeded_nonetheless(run: &Run, limit_ns: u64) -> Option<Verdict> {
    let verdict = of(run, limit_ns).filter(|_| validity::is_only_of_weaker_loads(run))?;
    (verdict.late_at_least > 0).then_some(verdict)
}

fn of_series(run: &Run, limit_ns: u64, cpus: Option<CpusOfKind>) -> Option<Verdict> {
    let is_counted = |series: &Series| {
        series.is_of_wakeups() && cpus.as_ref().is_none_or(|cpus| cpus.cpus.contains(&series.cpu()))
    };
    let recorded = |(_, series): &(usize, &Series)| is_counted(series) && series.max_ns.is_some();
    let (worst_series, worst_ns) = run
        .series
        .iter()
        .enumerate()
        .filter(recorded)
        .map(|(index, series)| (index, series.max_ns.unwrap_or(i64::MIN)))
        .max_by_key(|(index, max)| (*max, std::cmp::Reverse(*index)))?;
    let wakeups = run.series.iter().enumerate().filter(|(_, series)| is_counted(series));
    let late: Vec<(usize, late::Late)> =
        wakeups.map(|(index, series)| (index, late::beyond(series, limit_ns))).collect();
    let bounds: Vec<ShareBound> = late
        .iter()
        .filter(|(index, _)| run.series[*index].max_ns.is_some())
        .map(|(index, late)| bound(run, *index, late, limit_ns))
        .collect();
    let highest = bounds.iter().max_by(|a, b| a.upper.total_cmp(&b.upper))?.clone();
    Some(Verdict {
        cpus: cpus.clone(),
        readings: Readings::of(&run.series[worst_series]),
        limit_ns,
        worst_ns,
        worst_at_least: run.series.iter().any(|series| is_counted(series) && series.max_at_least),
        share_of_limit: worst_ns as f64 / limit_ns.max(1) as f64,
        worst_series,
        late_at_least: sum(&late, |one| one.at_least),
        late_at_most: sum(&late, |one| one.at_most),
        wakeups: sum(&late, |one| one.of),
        looked_ns: run.progress.measured_ns,
        confidence: CONFIDENCE,
        length: Length::of(run),
        bound: highest,
        bounds,
        wakeups_for_one_in_a_million: values_needed(1e-6, CONFIDENCE, 0).unwrap_or(u64::MAX),
    })
}

fn sum(late: &[(usize, late::Late)], part: impl Fn(&late::Late) -> u64) -> u64 {
    late.iter().fold(0, |sum, (_, one)| sum.saturating_add(part(one)))
}

fn bound(run: &Run, index: usize, late: &late::Late, limit_ns: u64) -> ShareBound {
    let series = &run.series[index];
    let inflation = share_limits::inflation(series, late, limit_ns, Length::of(run));
    ShareBound {
        series: index,
        label: name::of(series),
        declared: series.thresholds.iter().any(|count| count.limit_ns == limit_ns),
        episodes: episodes::of(series, limit_ns),
        counted_ns: series.counted_ns,
        unpinned: series.timer().is_some_and(|timer| !timer.pinned),
        late: late.at_most,
        wakeups: late.of,
        dispersion: late.dependence.map(|dependence| dependence.dispersion),
        inflation,
        clustered: late.dependence.is_some_and(|dependence| dependence.clustered),
        upper: share_limits::upper(late, inflation, CONFIDENCE, Length::of(run)),
    }
}
