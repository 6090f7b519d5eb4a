//! Whether the data decide the claim of a run whose phases end when it is decided (`--until`).
//!
//! The claim is that on no CPU more than the allowed share of wake-ups is late. It is supported if the upper limit of every CPU is at
//! most that share: if the claim is wrong, the limit of the worst CPU is wrong too, so CPUs need no correction. It is refuted if the
//! lower limit of any CPU is above the share; a refutation of any of them must be as rare as of one, so these limits have a higher
//! confidence. The limits are those of [`share_limits`], and hold however often they are computed.

use serde::Serialize;
use tardy_record::stop_rule::{Decision, StopRule};
use tardy_record::{Run, Series};

use crate::share_limits::{self, Length};
use crate::{late, name};

/// A wrong refutation is this many times less probable than a wrong support: in a short run, one late reading would otherwise be
/// enough.
pub const REFUTING_CAUTION: f64 = 5.0;

/// The claim of a run, and what each of its phases decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The rule, with the claim.
    pub rule: StopRule,
    /// The ends of the phases that recorded something.
    pub phases: Vec<End>,
}

impl Claim {
    /// What all phases show together: refuted if any refutes it, supported if all support it.
    pub fn decision(&self) -> Decision {
        let any = |decision| self.phases.iter().any(|end| end.decision == decision);
        match () {
            () if any(Decision::Refuted) => Decision::Refuted,
            () if any(Decision::Undecided) || self.phases.is_empty() => Decision::Undecided,
            () => Decision::Supported,
        }
    }
}

/// The end of a phase that its data may end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct End {
    /// The label of the phase.
    pub phase: String,
    /// What the counts show.
    pub decision: Decision,
    /// Whether that ended the phase before its planned end.
    pub early: bool,
    /// The counted time, in ns.
    pub counted_ns: u64,
    /// The counted time that was planned at most, in ns.
    pub planned_ns: u64,
    /// The CPU that decided: the one with the highest lower limit if the claim is refuted, else with the highest upper limit.
    pub series: String,
    /// Its upper limit of the share of late wake-ups.
    pub share_upper: f64,
    /// Its lower limit.
    pub share_lower: f64,
    /// The confidence of the lower limit, which is the higher the more CPUs there are.
    pub lower_confidence: f64,
    /// If nothing is shown, how much longer the phase would have to be if nothing more is late, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_more_ns: Option<u64>,
}

/// What `phase` of `run` shows about the claim of the plan's rule; [`Decision::Undecided`] if there is no rule.
pub fn decision(run: &Run, phase: usize) -> Decision {
    run.plan.until.map_or(Decision::Undecided, |rule| decided(run, phase, &rule, &limits(run, phase, &rule)))
}

/// The claim of `run`; `None` if its phases have planned lengths.
pub fn of(run: &Run) -> Option<Claim> {
    let rule = run.plan.until?;
    let phases = (0..run.phases.len()).filter_map(|phase| end(run, phase, &rule)).collect();
    Some(Claim { rule, phases })
}

/// The limits of one CPU.
struct Limits<'r> {
    series: &'r Series,
    upper: f64,
    lower: f64,
}

fn limits<'r>(run: &'r Run, phase: usize, rule: &StopRule) -> Vec<Limits<'r>> {
    let lower_confidence = lower_confidence(run, rule);
    let length = Length::by(rule);
    let counts =
        |series: &&Series| series.phase == phase && series.is_of_wakeups() && series.max_ns.is_some();
    let of_series = |series: &'r Series| {
        let late = late::beyond(series, rule.limit_ns);
        let inflation = share_limits::inflation(series, &late, rule.limit_ns, length);
        Limits {
            series,
            upper: share_limits::upper(&late, inflation, rule.confidence, length),
            lower: share_limits::lower(&late, inflation, lower_confidence, length),
        }
    };
    run.own_series().filter(counts).map(of_series).collect()
}

/// The confidence of lower limits, for the CPUs of all phases together: a gate may judge them all.
fn lower_confidence(run: &Run, rule: &StopRule) -> f64 {
    let cpus: usize = run.plan.phases.iter().map(|phase| phase.probe.cpus().len()).sum();
    refuting_confidence(rule.confidence, cpus)
}

/// The confidence of a lower limit of each of `count` series, for a claim of this `confidence`.
pub fn refuting_confidence(confidence: f64, count: usize) -> f64 {
    1.0 - (1.0 - confidence) / REFUTING_CAUTION / count.max(1) as f64
}

fn decided(run: &Run, phase: usize, rule: &StopRule, limits: &[Limits<'_>]) -> Decision {
    let planned = run.plan.phases.get(phase).map_or(0, |plan| plan.probe.cpus().len());
    // A CPU without a reading could be late always.
    let are_complete = !limits.is_empty() && limits.len() >= planned;
    match () {
        () if limits.iter().any(|one| one.lower > rule.probability) => Decision::Refuted,
        () if are_complete && limits.iter().all(|one| one.upper <= rule.probability) => Decision::Supported,
        () => Decision::Undecided,
    }
}

fn end(run: &Run, phase: usize, rule: &StopRule) -> Option<End> {
    let limits = limits(run, phase, rule);
    let decision = decided(run, phase, rule, &limits);
    let deciding = limits.iter().max_by(|a, b| match decision {
        Decision::Refuted => a.lower.total_cmp(&b.lower),
        _ => a.upper.total_cmp(&b.upper),
    })?;
    let needs_more = || limits.iter().filter_map(|one| needs_more_ns(one.series, rule)).max();
    let recorded = &run.phases[phase];
    Some(End {
        phase: recorded.label.clone(),
        decision,
        early: recorded.until.is_some_and(|end| end.early),
        counted_ns: limits.iter().map(|one| one.series.counted_ns).max().unwrap_or(0),
        planned_ns: run.plan.phases.get(phase)?.planned_ns(),
        series: name::of(deciding.series),
        share_upper: deciding.upper,
        share_lower: deciding.lower,
        lower_confidence: lower_confidence(run, rule),
        needs_more_ns: if decision == Decision::Undecided { needs_more() } else { None },
    })
}

/// How much longer `series` would have to be to support the claim if nothing more is late, in ns.
fn needs_more_ns(series: &Series, rule: &StopRule) -> Option<u64> {
    let late = late::beyond(series, rule.limit_ns);
    let inflation = share_limits::inflation(series, &late, rule.limit_ns, Length::by(rule));
    let more = share_limits::needed_if_none_is_late(&late, inflation, rule.probability, rule.confidence)?;
    let more_ns = more as f64 / late.of.max(1) as f64 * series.counted_ns as f64;
    (more_ns < 2f64.powi(63)).then_some(more_ns.round() as u64)
}

#[cfg(test)]
mod tests;
