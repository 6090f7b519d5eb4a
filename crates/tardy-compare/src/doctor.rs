//! The results of `tardy check --measure`: the changes that made wake-ups earlier or later, with p-values.
//!
//! Each trial of a change is compared with the baseline of the same round, as a ratio, so that drift from round to round
//! cancels. The ratios of all rounds go into an exact signed-rank test ([`crate::signed_rank`]), once for p99.9 and once for
//! the latest wake-up. The p-values are corrected for the number of tests: without the correction, one of ten changes without
//! an effect would seem to help in every other diagnosis. If a change has too few rounds to be distinguished from chance, only
//! the required number is reported.

use serde::{Serialize, Serializer};
use tardy_record::Run;
use tardy_record::run::State;

use tardy_analyse::pool;
use tardy_analyse::quantile::{self, CONFIDENCE, LEVELS};
use tardy_statistics::median;

use crate::signed_rank;

/// The quantile that is compared: p99.9.
const LEVEL: usize = 2;

/// The result of a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observation {
    /// Its round.
    pub round: u32,
    /// The change; `None` for a baseline.
    pub change: Option<String>,
    /// Its numbers, or why there are none, which JSON has under `left_out`.
    #[serde(flatten, serialize_with = "numbers_or_reason")]
    pub reading: Result<Reading, String>,
}

fn numbers_or_reason<S: Serializer>(reading: &Result<Reading, String>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Shown<'a> {
        Numbers(&'a Reading),
        Reason { left_out: &'a str },
    }
    match reading {
        Ok(numbers) => Shown::Numbers(numbers),
        Err(left_out) => Shown::Reason { left_out },
    }
    .serialize(to)
}

/// The numbers of a trial, all CPUs together, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// The 99.9 % quantile; `None` for fewer than 1000 wake-ups.
    pub p99_9_ns: Option<i64>,
    /// The highest latency.
    pub worst_ns: Option<i64>,
}

/// The numbers of a run.
///
/// # Errors
/// A message for the user if the run is invalid or incomplete.
pub fn reading(run: &Run) -> Result<Reading, String> {
    if let Some(reason) = run.validity.spoilt_by.first() {
        return Err(reason.to_string());
    }
    if run.progress.state != State::Complete {
        return Err("it ended early".to_owned());
    }
    let series: Vec<_> = run.own_series().collect();
    let pool = pool::of(&series).map_err(|error| error.to_string())?;
    let quantile = quantile::of(&pool.histogram, LEVELS[LEVEL], pool.max_ns, |_| 1.0);
    let value = quantile.value.filter(|value| !value.at_least);
    Ok(Reading { p99_9_ns: value.map(|value| value.quoted_ns()), worst_ns: pool.max_ns })
}

/// The verdict on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Wake-ups are earlier with it.
    Helps,
    /// Wake-ups are later with it.
    Harms,
    /// With the change, one of the two numbers is better and the other worse.
    Both,
    /// No difference that is distinguishable from chance.
    NoDifferenceSeen,
    /// There are too few valid rounds.
    TooFewRounds,
}

/// One statistic, with a change and without it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The number of rounds with a valid trial and a valid baseline.
    pub pairs: usize,
    /// Median of the baselines of these rounds, in ns.
    pub without_ns: Option<f64>,
    /// Median of the trials of these rounds, in ns.
    pub with_ns: Option<f64>,
    /// The estimated ratio of the latency with the change to that without: below 1 is better.
    pub ratio: Option<f64>,
    /// Its 95 % confidence interval, not corrected for multiple tests; `None` for fewer than six rounds.
    pub ratio_interval: Option<(f64, f64)>,
    /// The probability that a change without an effect looks like this or worse, corrected for multiple tests.
    pub p: f64,
    /// The verdict.
    pub verdict: Verdict,
}

/// The effect of one change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The change.
    pub change: String,
    /// The number of valid trials with a valid baseline.
    pub rounds: usize,
    /// The effect on p99.9.
    pub p99_9: Compared,
    /// The effect on the latest wake-up of a trial.
    pub worst: Compared,
    /// The verdict on both.
    pub verdict: Verdict,
    /// Reasons why trials of it were left out, each once.
    pub left_out: Vec<String>,
}

/// The results of all trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The number of rounds with a valid baseline.
    pub rounds: usize,
    /// The least number of rounds that can distinguish an effect from chance.
    pub least_rounds: usize,
    /// The number of tests.
    pub tests: usize,
    /// Changes, the most helpful first.
    pub effects: Vec<Effect>,
    /// Reasons why baselines were left out, each once.
    pub left_out: Vec<String>,
}

/// The number of rounds that are needed for `changes` changes.
pub fn least_rounds(changes: usize) -> usize {
    signed_rank::least_count((1.0 - CONFIDENCE) / tests(changes).max(1) as f64)
}

/// The number of tests: two for each change.
fn tests(changes: usize) -> usize {
    2 * changes
}

/// Diagnoses `changes` from these trials.
pub fn diagnose(changes: &[String], observations: &[Observation]) -> Diagnosis {
    let least_rounds = least_rounds(changes.len());
    let mut effects: Vec<Effect> = changes.iter().map(|change| effect(change, observations)).collect();
    correct(&mut effects, least_rounds);
    effects.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
    let baselines = observations.iter().filter(|one| one.change.is_none());
    Diagnosis {
        rounds: baselines.clone().filter(|one| one.reading.is_ok()).count(),
        least_rounds,
        tests: tests(changes.len()),
        effects,
        left_out: reasons(baselines),
    }
}

fn reasons<'a>(observations: impl Iterator<Item = &'a Observation>) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for reason in observations.filter_map(|one| one.reading.as_ref().err()) {
        if !reasons.contains(reason) {
            reasons.push(reason.clone());
        }
    }
    reasons
}

fn effect(change: &str, observations: &[Observation]) -> Effect {
    let of = |name: Option<&str>, round: u32| {
        let is_it = |one: &&Observation| one.change.as_deref() == name && one.round == round;
        observations.iter().find(is_it).and_then(|one| one.reading.clone().ok())
    };
    let trials = observations.iter().filter(|one| one.change.as_deref() == Some(change));
    let pairs: Vec<(Reading, Reading)> =
        trials.clone().filter_map(|one| Some((of(None, one.round)?, of(Some(change), one.round)?))).collect();
    let compared = |number: fn(&Reading) -> Option<i64>| {
        let both = pairs.iter().filter_map(|(without, with)| Some((number(without)?, number(with)?)));
        compare(&both.collect::<Vec<_>>())
    };
    Effect {
        change: change.to_owned(),
        rounds: pairs.len(),
        p99_9: compared(|reading| reading.p99_9_ns),
        worst: compared(|reading| reading.worst_ns),
        verdict: Verdict::NoDifferenceSeen,
        left_out: reasons(trials),
    }
}

/// Compares pairs of a number without the change and with it. The p-value is not corrected yet.
fn compare(pairs: &[(i64, i64)]) -> Compared {
    // A wake-up may be early by the clock's resolution; a ratio needs values above 0.
    let log = |ns: i64| libm::log(ns.max(1) as f64);
    let ratios: Vec<f64> = pairs.iter().map(|(without, with)| log(*with) - log(*without)).collect();
    let median_of = |side: fn(&(i64, i64)) -> i64| {
        let values: Vec<f64> = pairs.iter().map(|pair| side(pair) as f64).collect();
        median::of(&values)
    };
    let shift = signed_rank::shift(&ratios, CONFIDENCE);
    Compared {
        pairs: pairs.len(),
        without_ns: median_of(|pair| pair.0),
        with_ns: median_of(|pair| pair.1),
        ratio: shift.map(|(ratio, _)| libm::exp(ratio)),
        ratio_interval: shift
            .and_then(|(_, interval)| interval)
            .map(|(low, high)| (libm::exp(low), libm::exp(high))),
        p: signed_rank::test(&ratios).p,
        verdict: Verdict::NoDifferenceSeen,
    }
}

/// Corrects all p-values together, and derives the verdicts.
fn correct(effects: &mut [Effect], least_rounds: usize) {
    let p_values: Vec<f64> = effects.iter().flat_map(|effect| [effect.p99_9.p, effect.worst.p]).collect();
    let corrected = signed_rank::holm(&p_values, p_values.len());
    for (effect, p) in effects.iter_mut().zip(corrected.chunks(2)) {
        for (compared, p) in [&mut effect.p99_9, &mut effect.worst].into_iter().zip(p) {
            compared.p = *p;
            compared.verdict = match compared.ratio {
                _ if compared.pairs < least_rounds => Verdict::TooFewRounds,
                Some(ratio) if *p <= 1.0 - CONFIDENCE && ratio < 1.0 => Verdict::Helps,
                Some(ratio) if *p <= 1.0 - CONFIDENCE && ratio > 1.0 => Verdict::Harms,
                _ => Verdict::NoDifferenceSeen,
            };
        }
        effect.verdict = together(effect.p99_9.verdict, effect.worst.verdict);
    }
}

fn together(one: Verdict, other: Verdict) -> Verdict {
    use Verdict::{Both, Harms, Helps, TooFewRounds};
    match (one, other) {
        (Helps, Harms) | (Harms, Helps) => Both,
        (Helps, _) | (_, Helps) => Helps,
        (Harms, _) | (_, Harms) => Harms,
        (TooFewRounds, TooFewRounds) => TooFewRounds,
        (TooFewRounds, found) | (found, _) => found,
    }
}

/// Helpful changes come first, then undecided ones, then harmful ones; within each group the better ratio first.
fn rank(effect: &Effect) -> (u8, f64) {
    let class = match effect.verdict {
        Verdict::Helps => 0,
        Verdict::Both => 1,
        Verdict::NoDifferenceSeen | Verdict::TooFewRounds => 2,
        Verdict::Harms => 3,
    };
    let ratio = |compared: &Compared| compared.ratio.unwrap_or(1.0);
    (class, ratio(&effect.p99_9).min(ratio(&effect.worst)))
}

#[cfg(test)]
mod tests;
