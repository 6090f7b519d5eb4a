//! The tail of a run beyond its own duration: the latency that is exceeded once per day, with its interval, or the reasons
//! why the run does not support such a number.
//!
//! Two estimates for each phase: the generalised extreme value distribution of block maxima, and the generalised Pareto
//! distribution of the highest values. The maxima have the order of time, so all checks of [`refuse`] apply to them, and they
//! decide. A block's maximum is that of all CPUs: its level is that of the latest wake-up of any CPU, which needs no
//! assumption about how CPUs depend on each other.
//!
//! [`refuse`]: tardy_statistics::extreme::refuse

mod diagnostics;
mod estimate;
mod sample;
mod task;

use serde::Serialize;
use tardy_record::{Run, Series, reason};

use crate::name::Readings;
use crate::stationarity::Stationarity;

pub use diagnostics::{Diagnostics, Observed, ShapeOver};

/// How much of the tails is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Nothing.
    #[default]
    Nothing,
    /// What decides whether a level is quoted: the highest values are fitted only if block maxima do not refuse.
    Quoted,
    /// Fits, checks and levels by both methods.
    Levels,
    /// The values of the diagnostic plots as well.
    Diagnostics,
}

/// The tail of a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tail {
    /// Index of the phase.
    pub phase: usize,
    /// Its label.
    pub label: String,
    /// The readings.
    pub readings: Readings,
    /// The measured time of the phase, in ns.
    pub measured_ns: u64,
    /// How many series were combined.
    pub series: usize,
    /// The highest value, in ns.
    pub highest_ns: i64,
    /// Confidence of every interval.
    pub confidence: f64,
    /// Whether levels may be stated.
    pub supported: bool,
    /// The level to quote: that of the shortest round time that is longer than the measurement. `None` if levels are not
    /// supported.
    pub next: Option<Level>,
    /// Why levels are not supported; empty if they are.
    pub refusals: Vec<Refusal>,
    /// From block maxima; `None` if the run has none, as many imported ones.
    pub maxima: Option<Estimate>,
    /// From the highest values; `None` if block maxima decided alone ([`Depth::Quoted`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excesses: Option<Estimate>,
}

/// A level that is exceeded once per so much time, on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Level {
    /// The time, in ns.
    pub once_per_ns: u64,
    /// The level, in ns.
    pub level_ns: i64,
    /// Lower end of its profile-likelihood interval; `None` if the data do not determine it.
    pub lower_ns: Option<i64>,
    /// Upper end.
    pub upper_ns: Option<i64>,
    /// The time as a multiple of the measured time.
    pub extrapolation: f64,
}

/// Why levels are not supported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The name of the check that refused.
    pub check: &'static str,
    /// The reason in plain words, as the end of a sentence.
    pub reason: String,
    /// What it found, as a sentence without a full stop.
    pub found: String,
    /// What would help; `None` if `found` states it.
    pub help: Option<&'static str>,
}

/// An estimate by one method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The method, with its sample.
    pub method: Method,
    /// The fitted distribution; `None` if the values cannot be fitted.
    pub fit: Option<Fitted>,
    /// Whether no check refused.
    pub supported: bool,
    /// Every check.
    pub checks: Vec<Checked>,
    /// The levels of round times, shortest first; empty if a check refused.
    pub levels: Vec<Level>,
    /// The values of the diagnostic plots, if requested and the values can be fitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Diagnostics>,
}

/// A method, with its sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Method {
    /// The generalised extreme value distribution of block maxima.
    BlockMaxima {
        /// The length of a block, in ns.
        block_ns: u64,
        /// The number of blocks.
        blocks: u64,
    },
    /// The generalised Pareto distribution of the values over a threshold.
    Excesses {
        /// The threshold, in ns.
        threshold_ns: i64,
        /// How many values exceed it.
        over: u64,
        /// Of so many.
        of: u64,
        /// The share of these that begin a cluster, from their counts per block; 1 if it is unknown.
        extremal_index: f64,
    },
}

/// The parameters of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The location, or the threshold, in ns.
    pub location_ns: f64,
    /// The scale, in ns.
    pub scale_ns: f64,
    /// The shape ξ: below 0 the tail is bounded, above 0 it is heavy.
    pub shape: f64,
    /// Lower end of its interval.
    pub shape_lower: Option<f64>,
    /// Upper end.
    pub shape_upper: Option<f64>,
    /// The highest possible value, in ns, if the tail is bounded.
    pub upper_end_ns: Option<f64>,
}

/// A check of an estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// Its name.
    pub check: &'static str,
    /// Its result.
    pub outcome: Outcome,
    /// Why no level is supported if it refuses, in plain words.
    #[serde(skip)]
    pub reason: String,
    /// What it found, as a sentence without a full stop; latencies are in us.
    pub found: String,
    /// What would help if it does not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<&'static str>,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The data are as they should be.
    Passes,
    /// Levels may be stated with this remark.
    Flags,
    /// Levels must not be stated.
    Refuses,
    /// The data do not contain what the check needs.
    NotComputed,
}

/// The tails of the phases of `run` whose latencies have one. `stationarity` is that of the same run.
pub fn of(run: &Run, stationarity: &[Stationarity], depth: Depth) -> Vec<Tail> {
    if depth == Depth::Nothing {
        return Vec::new();
    }
    let phases = 0..run.phases.len();
    phases.filter_map(|phase| of_phase(run, phase, stationarity, depth)).collect()
}

fn of_phase(run: &Run, phase: usize, stationarity: &[Stationarity], depth: Depth) -> Option<Tail> {
    let with_diagnostics = depth == Depth::Diagnostics;
    let series: Vec<&Series> = run.own_series().filter(|one| one.phase == phase && has_tail(one)).collect();
    let highest_ns = series.iter().filter_map(|one| one.max_ns).max()?;
    let measured_ns = series.iter().map(|one| one.counted_ns).max().filter(|ns| *ns > 0)?;
    let is_steady = stationarity.iter().find(|one| one.phase == phase).and_then(|one| one.stationary);
    let has_changed = is_steady.map(|is_steady| !is_steady);
    let task = task::Task { series: &series, measured_ns, has_changed, with_diagnostics };
    let maxima = estimate::of_maxima(&task);
    let has_decided = depth == Depth::Quoted && maxima.as_ref().is_some_and(|maxima| !maxima.supported);
    let excesses = (!has_decided).then(|| estimate::of_excesses(&task));
    let refusals = estimate::refusals(maxima.as_ref(), excesses.as_ref());
    let supported = refusals.is_empty();
    let mut tail = Tail {
        phase,
        label: run.phases[phase].label.clone(),
        readings: Readings::of(series[0]),
        measured_ns,
        series: series.len(),
        highest_ns,
        confidence: crate::quantile::CONFIDENCE,
        supported,
        next: None,
        refusals,
        maxima,
        excesses,
    };
    let is_next = |level: &&Level| level.extrapolation > 1.0 && supported;
    tail.next = tail.deciding().and_then(|estimate| estimate.levels.iter().find(is_next).copied());
    Some(tail)
}

/// Why `run` has no tail, as the end of a sentence; `None` if one of its phases has.
pub fn none_because(run: &Run) -> Option<String> {
    if !run.validity.valid {
        return Some(format!("the run is invalid: {}", reason::joined(&run.validity.spoilt_by)));
    }
    if let Some(why) = crate::lab::meaningless_because(run) {
        return Some(format!("its latencies mean nothing: {why}"));
    }
    let with_tail: Vec<&Series> = run.own_series().filter(|one| has_tail(one)).collect();
    match () {
        () if run.own_series().any(|one| one.max_at_least) && with_tail.is_empty() => {
            Some("the file does not establish its highest value".to_owned())
        }
        () if with_tail.is_empty() => Some("it has no latencies".to_owned()),
        () if with_tail.iter().all(|one| one.counted_ns == 0) => {
            Some("the file does not state how long it measured".to_owned())
        }
        () => None,
    }
}

/// Whether the highest values of `series` are latencies of a thread, and all known.
fn has_tail(series: &Series) -> bool {
    let is_latency = matches!(Readings::of(series), Readings::WakeUps | Readings::Reactions);
    is_latency && series.is_of_wakeups() && !series.max_at_least && series.max_ns.is_some()
}

impl Tail {
    /// The estimate whose levels are quoted.
    pub fn deciding(&self) -> Option<&Estimate> {
        self.maxima.as_ref().or(self.excesses.as_ref())
    }
}

impl Estimate {
    /// The checks that refuse.
    pub fn refusing(&self) -> impl Iterator<Item = &Checked> {
        self.checks.iter().filter(|one| one.outcome == Outcome::Refuses)
    }
}

#[cfg(test)]
mod tests;
