//! Decides a requirement for a run.
//!
//! A share of late readings is decided by both of its confidence limits ([`share_limits`]), with counts and trials divided by
//! [`share_limits::inflation`] where lateness comes in clusters: it passes if the upper limit is at most the allowed share, fails if
//! the lower limit is above it, and is not decided between. A wrong pass has at most the probability that the confidence leaves, and
//! a wrong failure a fifth of it: in a short run, one late reading would otherwise be enough. A quantile below a limit is the same
//! statement: a share of at most 1 − q is later than the limit. Limits of a run that its data ended are those that hold at all times.

use std::cmp::Ordering;

use serde::Serialize;
use tardy_analyse::late::{self, Late};
use tardy_analyse::share_limits::{self, Length};
use tardy_analyse::{lab, name, phases, until};
use tardy_record::{Run, Series, reason, validity};

use crate::outcome::Outcome;
use crate::requirement::{Demand, Requirement};

/// The outcome of a requirement for a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The requirement.
    pub requirement: Requirement,
    /// The outcome.
    pub outcome: Outcome,
    /// The series that decided it; `None` if the run is invalid or has no such readings.
    pub evidence: Option<Evidence>,
    /// Why the run cannot be judged; `None` if it was.
    pub invalid_because: Option<String>,
}

/// The numbers that decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The label of the phase.
    pub phase: String,
    /// The name of the series.
    pub series: String,
    /// Readings later than the limit, at least: of the bin across the limit, none is counted.
    pub late_at_least: u64,
    /// Readings later than the limit, at most.
    pub late_at_most: u64,
    /// All readings.
    pub readings: u64,
    /// What decided how many there are; absent if it was the plan.
    #[serde(skip_serializing_if = "Length::is_planned")]
    pub length: Length,
    /// The factor by which counts and readings were divided since lateness comes in clusters; 1 if it does not.
    pub inflation: f64,
    /// Lower confidence limit of the share of late readings.
    pub share_lower: f64,
    /// The confidence of the lower limit, which is the higher the more series are judged.
    pub lower_confidence: f64,
    /// Upper confidence limit of the share of late readings.
    pub share_upper: f64,
    /// Highest value, in ns.
    pub worst_ns: i64,
    /// Whether that is a lower bound.
    pub worst_at_least: bool,
    /// Whether the run is invalid because its load weakened; only a failed requirement has evidence then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub under_a_weaker_load: bool,
    /// The counted time, in ns; 0 if another tool's file does not state it.
    pub counted_ns: u64,
    /// How many more readings the run would need to pass, if they continue to be late as often; `None` if it was decided, or if it
    /// would not pass with any number.
    pub needs_more: Option<u64>,
    /// How much longer it would have to be for these, in ns; `None` if `needs_more` is, or if it is not known how long it is.
    pub needs_more_ns: Option<u64>,
}

/// Decides `requirement` for `run`. Of several series the worst decides.
pub fn judge(run: &Run, requirement: &Requirement) -> Judgement {
    let because = |reason: String| Judgement {
        requirement: requirement.clone(),
        outcome: Outcome::Invalid,
        evidence: None,
        invalid_because: Some(reason),
    };
    let series = match judged_series(run, requirement) {
        Ok(series) => series,
        Err(reason) => return because(reason),
    };
    // A wrong failure of any of them must be as rare as of one.
    let failing_confidence = until::refuting_confidence(requirement.confidence, series.len());
    let all = series.into_iter().map(|one| decided(run, one, requirement, failing_confidence));
    let worst = all.max_by(|(a, of_a), (b, of_b)| {
        a.cmp(b).then_with(|| of_a.decides_before(of_b, *a, requirement.demand))
    });
    let Some((outcome, evidence)) = worst else { return because("nothing was recorded".to_owned()) };
    // A weaker load excuses nothing, and proves nothing.
    if !run.validity.valid && outcome != Outcome::Failed {
        return because(invalid(run));
    }
    Judgement { requirement: requirement.clone(), outcome, evidence: Some(evidence), invalid_because: None }
}

fn invalid(run: &Run) -> String {
    format!("the run is invalid: {}", reason::joined(&run.validity.spoilt_by))
}

impl Evidence {
    /// The order of two series with the same `outcome`: the one that decided is the highest.
    fn decides_before(&self, other: &Self, outcome: Outcome, demand: Demand) -> Ordering {
        let worst = self.worst_ns.cmp(&other.worst_ns);
        let share = match outcome {
            Outcome::Failed => self.share_lower.total_cmp(&other.share_lower),
            _ => self.share_upper.total_cmp(&other.share_upper),
        };
        match demand {
            // Only the highest value counts; a shorter series has a higher limit of its share.
            Demand::Max { .. } => worst.then(share),
            Demand::Share { .. } => share.then(worst),
        }
    }
}

/// The series that `requirement` is about.
///
/// # Errors
/// Why there are none, or why their numbers are not to be judged.
fn judged_series<'r>(run: &'r Run, requirement: &Requirement) -> Result<Vec<&'r Series>, String> {
    if !run.validity.valid && !validity::is_only_of_weaker_loads(run) {
        return Err(invalid(run));
    }
    if let Some(reason) = lab::meaningless_because(run) {
        return Err(format!("latencies mean nothing: {reason}"));
    }
    let phases = phases::wanted(run, requirement.phase.as_deref())?;
    let of_phases: Vec<&Series> =
        run.own_series().filter(|series| series.is_of_wakeups() && phases.contains(&series.phase)).collect();
    let wanted = requirement.series.as_deref().map(spaceless);
    let is_wanted =
        |series: &&Series| wanted.as_ref().is_none_or(|wanted| spaceless(&name::of(series)) == *wanted);
    let mut matching: Vec<&Series> = of_phases.iter().copied().filter(is_wanted).collect();
    // Other times of a program, such as the latency of a chain, are judged if they are named.
    let others = || {
        run.series
            .iter()
            .filter(|one| one.program().is_some() && !one.is_of_wakeups() && phases.contains(&one.phase))
    };
    if wanted.is_some() && matching.is_empty() {
        matching = others().filter(is_wanted).collect();
    }
    if let Some(wanted) = requirement
        .series
        .as_ref()
        .filter(|_| matching.is_empty() && (!of_phases.is_empty() || others().next().is_some()))
    {
        let all = of_phases.iter().copied().chain(others());
        let mut names: Vec<String> = all.map(|series| spaceless(&name::of(series))).collect();
        names.dedup();
        return Err(format!("there is no '{wanted}' in the run; it has {}", names.join(", ")));
    }
    let recorded: Vec<&Series> = matching.into_iter().filter(|series| series.max_ns.is_some()).collect();
    match recorded.is_empty() {
        false => Ok(recorded),
        true if run.own_series().any(|one| phases.contains(&one.phase) && !one.is_of_wakeups()) => {
            Err("the phase has no latencies, which alone are judged".to_owned())
        }
        true => Err("nothing was recorded".to_owned()),
    }
}

fn spaceless(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase()
}

fn decided(
    run: &Run,
    series: &Series,
    requirement: &Requirement,
    failing_confidence: f64,
) -> (Outcome, Evidence) {
    let demand = requirement.demand;
    let late = late::beyond(series, demand.limit_ns());
    let length = Length::of(run);
    let inflation = share_limits::inflation(series, &late, demand.limit_ns(), length);
    let lower = share_limits::lower(&late, inflation, failing_confidence, length);
    let upper = share_limits::upper(&late, inflation, requirement.confidence, length);
    let worst_ns = series.max_ns.unwrap_or(i64::MIN);
    let outcome = match demand {
        Demand::Max { limit_ns } if worst_ns >= i64::try_from(limit_ns).unwrap_or(i64::MAX) => {
            Outcome::Failed
        }
        Demand::Max { .. } if series.max_at_least => Outcome::Inconclusive,
        Demand::Max { .. } => Outcome::Passed,
        Demand::Share { allowed, .. } => of_share(lower, upper, allowed),
    };
    let factor = match demand {
        Demand::Share { allowed, .. } if outcome == Outcome::Inconclusive => {
            needed(&late, inflation, allowed, requirement.confidence, length)
        }
        _ => None,
    };
    let more_of = |amount: u64| factor.map(|factor| (amount as f64 * (factor - 1.0)).max(0.0).ceil() as u64);
    let evidence = Evidence {
        phase: run.phases.get(series.phase).map_or_else(String::new, |phase| phase.label.clone()),
        series: name::of(series),
        late_at_least: late.at_least,
        late_at_most: late.at_most,
        readings: late.of,
        length,
        inflation,
        share_lower: lower,
        lower_confidence: failing_confidence,
        share_upper: upper,
        worst_ns,
        worst_at_least: series.max_at_least,
        under_a_weaker_load: !run.validity.valid,
        counted_ns: series.counted_ns,
        needs_more: more_of(late.of),
        needs_more_ns: more_of(series.counted_ns).filter(|_| series.counted_ns > 0),
    };
    (outcome, evidence)
}

fn of_share(lower: f64, upper: f64, allowed: f64) -> Outcome {
    match () {
        () if lower > allowed => Outcome::Failed,
        () if upper <= allowed => Outcome::Passed,
        () => Outcome::Inconclusive,
    }
}

/// The multiple of the run's length at which its upper limit is at most `allowed`, if readings are late as often as so far;
/// `None` if there is none.
fn needed(late: &Late, inflation: f64, allowed: f64, confidence: f64, length: Length) -> Option<f64> {
    let (most, of) = (late.at_most as f64, late.of as f64);
    if of <= 0.0 || most / of >= allowed {
        return None;
    }
    let passes = |factor: f64| {
        let at_most = (most * factor).ceil() as u64;
        let longer = Late { at_least: 0, at_most, of: (of * factor).floor() as u64, dependence: None };
        share_limits::upper(&longer, inflation, confidence, length) <= allowed
    };
    let mut high = 1.0;
    while !passes(high) {
        high *= 2.0;
        // A share just below the allowed one would take longer than anybody measures.
        if of * high > 1e15 {
            return None;
        }
    }
    let mut low = high / 2.0;
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if passes(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::CONFIDENCE;
    use tardy_statistics::binomial;

    const ALLOWED: f64 = 1e-3;

    fn outcome(k: u64, n: u64) -> Outcome {
        let late = Late { at_least: k, at_most: k, of: n, dependence: None };
        let lower =
            share_limits::lower(&late, 1.0, until::refuting_confidence(CONFIDENCE, 1), Length::Planned);
        let upper = share_limits::upper(&late, 1.0, CONFIDENCE, Length::Planned);
        of_share(lower, upper, ALLOWED)
    }

    /// The probabilities that a run of `n` independent readings, each late with `share`, passes and fails.
    fn probabilities(n: u64, share: f64) -> (f64, f64) {
        let counts = || 0..=n.min(1_000);
        let passes = counts().take_while(|k| outcome(*k, n) == Outcome::Passed).last();
        let fails = counts().find(|k| outcome(*k, n) == Outcome::Failed);
        (
            passes.map_or(0.0, |most| binomial::at_most(most, n, share)),
            fails.map_or(0.0, |least| binomial::at_least(least, n, share)),
        )
    }

    /// Exact, from the binomial distribution, instead of by repetition.
    #[test]
    fn a_wrong_outcome_is_rare_at_every_rate_and_length() {
        for n in [10, 20, 100, 300, 1_000, 2_994, 2_995, 5_000, 10_000, 30_000, 100_000] {
            for rate in [0.01, 0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 10.0, 100.0] {
                let (passed, failed) = probabilities(n, rate * ALLOWED);
                let wrong = if rate > 1.0 { passed } else { failed };
                let most = if rate <= 0.5 || rate >= 2.0 { 0.01 } else { 0.05 };
                assert!(wrong <= most, "{n} readings, {rate} of the allowed share: {wrong} wrong");
            }
        }
    }

    /// The table of docs/gate.md, printed by `make coverage`.
    #[test]
    fn longer_runs_decide_more_often() {
        println!(
            "| readings times allowed share | at a tenth | at half | at 0.9 | at 1.1 | at twice | at ten times |"
        );
        println!("|---|---|---|---|---|---|---|");
        let mut before = 1.0;
        for n in [1_000, 3_000, 10_000, 30_000, 100_000] {
            let undecided = |rate: f64| {
                let (passed, failed) = probabilities(n, rate * ALLOWED);
                1.0 - passed - failed
            };
            let cells = [0.1, 0.5, 0.9, 1.1, 2.0, 10.0]
                .map(|rate| format!("{:.0} %", undecided(rate).max(0.0) * 100.0));
            println!("| {} | {} |", n as f64 * ALLOWED, cells.join(" | "));
            assert!(undecided(0.5) <= before && undecided(2.0) < 0.99);
            before = undecided(0.5);
        }
        assert!(before < 0.01);
    }

    #[test]
    fn the_time_that_is_needed_is_enough_and_not_too_much() {
        for (k, n) in [(0, 100), (1, 1_500), (3, 5_000), (40, 50_000)] {
            let late = Late { at_least: k, at_most: k, of: n, dependence: None };
            let factor = needed(&late, 1.0, ALLOWED, CONFIDENCE, Length::Planned).unwrap();
            let of =
                |factor: f64| outcome((k as f64 * factor).ceil() as u64, (n as f64 * factor).floor() as u64);
            assert_eq!(of(factor), Outcome::Passed, "{k} of {n}");
            assert_ne!(of(factor * 0.7), Outcome::Passed, "{k} of {n}");
        }
        let late = Late { at_least: 2, at_most: 2, of: 1_000, dependence: None };
        assert_eq!(needed(&late, 1.0, ALLOWED, CONFIDENCE, Length::Planned), None);
    }
}
