//! Decides whether runs are worse than those of a baseline by more than what matters.
//!
//! The boots of both sides are compared as by `tardy compare --base … --candidate …` ([`tardy_compare::versus`]): the 99.9 %
//! quantile of the first loaded phase, or a lower one in short runs. A difference matters if it is larger than the margin, than
//! 1 us, and than two bins of the histogram. The runs pass if the upper end of the difference's 95 % interval does not matter, and
//! fail if the estimate matters and the permutation test shows a difference at 5 %. Both are wrong in at most 2.5 % of cases,
//! since only one end of the interval, and one direction of the test, can be wrong.

mod same_identity;

use serde::Serialize;
use tardy_compare::versus::{self, Factor, Options, Strength, Versus};
use tardy_plot::numbers::{counted, per_cent, ratio, with_unit};
use tardy_record::Run;

use crate::outcome::Outcome;
pub use same_identity::{Moved, MovedBin, SameIdentity};

/// The fewest boots of each side in the lab. A test is possible with four, but there a boot costs seconds.
const LAB_BOOTS_MIN: usize = 5;
/// The least difference that matters, in ns.
const LEAST_NS: f64 = 1_000.0;
/// Two bins of a histogram of 128 bins per octave, as a share of the value, at most: an octave has bins of equal width, so they are
/// widest, relative to the value, at its beginning.
const TWO_BINS: f64 = 2.0 / 128.0;

/// The outcome of runs against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstBaseline {
    /// The outcome.
    pub outcome: Outcome,
    /// By how much the candidate may be higher, as a share of the baseline's median.
    pub margin: f64,
    /// The numbers that decided; `None` if nothing was compared.
    pub compared: Option<Compared>,
    /// Why nothing was compared; `None` if it was, or if all boots are also in the baseline.
    pub not_because: Option<String>,
    /// The boots of the lab that both sides have with one identity.
    pub same_identity: Vec<SameIdentity>,
}

/// The compared statistic. Times are in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The name of the phase.
    pub phase: String,
    /// The name of the statistic, such as `p99.9`.
    pub statistic: String,
    /// The number of boots (or runs) of the baseline and of the candidate.
    pub boots: [usize; 2],
    /// The median over the baseline's boots.
    pub base_ns: f64,
    /// The median over the candidate's boots.
    pub candidate_ns: f64,
    /// By how much the candidate is higher (Hodges and Lehmann).
    pub higher_by_ns: f64,
    /// Ends of the 95 % interval of that; `None` if there are too few boots.
    pub interval_ns: Option<[f64; 2]>,
    /// The p-value of no difference; `None` if there are too few boots to test.
    pub p: Option<f64>,
    /// A difference up to this one does not matter.
    pub matters_above_ns: f64,
    /// With how many boots of each side a difference can be shown; `None` if there are enough.
    pub needed: Option<usize>,
}

/// Judges the runs of `candidate` against those of `base`. `margin` is a share: 0.05 is 5 %.
pub fn judge(base: &[&Run], candidate: &[&Run], factor: &Factor, margin: f64) -> AgainstBaseline {
    let options = Options { factor: factor.clone(), limit_ns: None };
    let same_identity = same_identity::pairs(base, candidate);
    let judged = |outcome, compared, not_because| AgainstBaseline {
        outcome,
        margin,
        compared,
        not_because,
        same_identity: same_identity.clone(),
    };
    let not = |reason| judged(Outcome::Invalid, None, Some(reason));
    // A boot that the baseline has too is not another observation of the candidate: it is the same one.
    let candidate: &[&Run] = &same_identity::without(&same_identity, candidate);
    if candidate.is_empty() && !same_identity.is_empty() {
        return judged(Outcome::Passed, None, None);
    }
    let versus = match versus::of(base, candidate, &options) {
        Ok(versus) => versus,
        Err(reason) => return not(reason),
    };
    if versus.strength == Strength::NotComparable {
        return not(obstacles(&versus));
    }
    let is_lab = candidate.iter().all(|run| run.lab.is_some());
    match compared(&versus, margin, if is_lab { LAB_BOOTS_MIN } else { 0 }) {
        Some(compared) => judged(outcome(&compared), Some(compared), None),
        None => not("there is no quantile that both sides have".to_owned()),
    }
}

/// What else differs, so that a difference would say nothing about the factor.
fn obstacles(versus: &Versus) -> String {
    let facts = versus.differences.obstacles.iter().map(|one| one.name.clone());
    let all: Vec<String> = versus.differences.reasons.iter().cloned().chain(facts).collect();
    format!("the baseline differs in more than the {}: {}", versus.factor, all.join("; "))
}

/// The numbers of the comparison, of which a decision needs at least `boots_min` boots of each side.
fn compared(versus: &Versus, margin: f64, boots_min: usize) -> Option<Compared> {
    let experiment = versus.experiments.get(versus.primary.unwrap_or(0))?;
    let statistic = match versus.primary_statistic {
        Some(name) => experiment.statistic(name)?,
        None => ["p99.9", "p99", "p50"]
            .iter()
            .find_map(|name| experiment.statistic(name).filter(|statistic| statistic.difference.is_some()))?,
    };
    let (difference, base_ns) = (statistic.difference?, statistic.base_median?);
    let needed = match versus.strength {
        Strength::TooFew { needed, .. } => Some(needed),
        Strength::DescriptiveOnly => Some(versus::least_observations()),
        Strength::Tested | Strength::NotComparable => None,
    };
    let boots = [&versus.base, &versus.candidate].map(|group| group.observations.len());
    let needed = match needed {
        None if boots.iter().any(|boots| *boots < boots_min) => Some(boots_min),
        other => other.map(|needed| needed.max(boots_min)),
    };
    Some(Compared {
        phase: experiment.label.clone(),
        statistic: statistic.name.to_owned(),
        boots,
        base_ns,
        candidate_ns: statistic.candidate_median?,
        higher_by_ns: difference.estimate,
        interval_ns: difference.low.zip(difference.high).map(|(low, high)| [low, high]),
        p: statistic.test.map(|test| test.p),
        matters_above_ns: (margin.max(TWO_BINS) * base_ns).max(LEAST_NS),
        needed,
    })
}

fn outcome(compared: &Compared) -> Outcome {
    let (Some([_, high]), Some(p), None) = (compared.interval_ns, compared.p, compared.needed) else {
        return Outcome::Inconclusive;
    };
    if high <= compared.matters_above_ns {
        Outcome::Passed
    } else if p <= 0.05 && compared.higher_by_ns > compared.matters_above_ns {
        Outcome::Failed
    } else {
        Outcome::Inconclusive
    }
}

impl AgainstBaseline {
    /// What was demanded, as a name for lists of results.
    pub fn demand(&self) -> String {
        let statistic = self.compared.as_ref().map_or("latency", |compared| compared.statistic.as_str());
        format!("{statistic} within {} of the baseline", per_cent(self.margin))
    }

    /// Why the outcome is as it is, in plain text.
    pub fn sentence(&self) -> String {
        let because = self.because();
        let parts: Vec<String> =
            because.into_iter().chain(same_identity::sentence(&self.same_identity)).collect();
        parts.join(" ")
    }

    /// `None` if all boots are also in the baseline.
    fn because(&self) -> Option<String> {
        let Some(compared) = &self.compared else {
            return self.not_because.as_ref().map(|reason| format!("Not judged: {reason}."));
        };
        let [base, candidate] = compared.boots;
        let seen = format!(
            "{}: {} against {} in the baseline (medians of {candidate} and {base})",
            compared.phase,
            with_unit(compared.candidate_ns),
            with_unit(compared.base_ns)
        );
        let allowed = format!("allowed: {} more", with_unit(compared.matters_above_ns));
        Some(match (compared.interval_ns, compared.p, compared.needed) {
            (_, _, Some(needed)) => {
                format!("{seen}; {allowed}. Needs {} of each side.", counted(needed as u64, "boot", "boots"))
            }
            (Some(interval), Some(p), None) => {
                format!(
                    "{seen}; with 95 % confidence {}, p = {}, {allowed}.",
                    more_or_less(interval),
                    ratio(p)
                )
            }
            _ => format!("{seen}; {allowed}. The interval of the difference cannot be determined."),
        })
    }
}

/// An interval of differences in words: `5 us to 12 us more`, `5 us to 12 us less`, `1 us less to 3 us more`.
fn more_or_less([low, high]: [f64; 2]) -> String {
    let [of_low, of_high] = [low, high].map(|ns| with_unit(ns.abs()));
    match () {
        () if low >= 0.0 => format!("{of_low} to {of_high} more"),
        () if high <= 0.0 => format!("{of_high} to {of_low} less"),
        () => format!("{of_low} less to {of_high} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::layout::FINE;

    #[test]
    fn an_interval_has_a_direction() {
        assert_eq!(more_or_less([5_000.0, 12_000.0]), "5 us to 12 us more");
        assert_eq!(more_or_less([-16_100.0, -4_990.0]), "4.99 us to 16.1 us less");
        assert_eq!(more_or_less([-1_000.0, 3_000.0]), "1 us less to 3 us more");
    }

    fn of(higher_by_ns: f64, interval_ns: [f64; 2], p: f64) -> Compared {
        Compared {
            phase: "doload".to_owned(),
            statistic: "p99.9".to_owned(),
            boots: [5, 5],
            base_ns: 50_000.0,
            candidate_ns: 50_000.0 + higher_by_ns,
            higher_by_ns,
            interval_ns: Some(interval_ns),
            p: Some(p),
            matters_above_ns: 2_500.0,
            needed: None,
        }
    }

    #[test]
    fn only_what_matters_fails_and_only_what_is_excluded_passes() {
        for (compared, expected) in [
            (of(0.0, [-2_000.0, 2_400.0], 1.0), Outcome::Passed),
            (of(2_000.0, [1_000.0, 2_400.0], 0.008), Outcome::Passed),
            (of(2_000.0, [-100.0, 4_000.0], 0.2), Outcome::Inconclusive),
            (of(2_000.0, [1_000.0, 4_000.0], 0.008), Outcome::Inconclusive),
            (of(9_000.0, [-1_000.0, 20_000.0], 0.09), Outcome::Inconclusive),
            (of(9_000.0, [5_000.0, 12_000.0], 0.008), Outcome::Failed),
            (of(-9_000.0, [-12_000.0, -5_000.0], 0.008), Outcome::Passed),
        ] {
            assert_eq!(outcome(&compared), expected, "{compared:?}");
        }
        let few = Compared { needed: Some(4), ..of(9_000.0, [5_000.0, 12_000.0], 0.008) };
        assert_eq!(outcome(&few), Outcome::Inconclusive);
    }

    #[test]
    fn the_sentence_has_both_medians_and_what_is_allowed() {
        let judged = AgainstBaseline {
            outcome: Outcome::Failed,
            margin: 0.05,
            compared: Some(of(9_000.0, [5_000.0, 12_000.0], 0.008)),
            not_because: None,
            same_identity: Vec::new(),
        };
        assert_eq!(judged.demand(), "p99.9 within 5 % of the baseline");
        assert_eq!(
            judged.sentence(),
            "doload: 59 us against 50 us in the baseline (medians of 5 and 5); with 95 % confidence 5 us to 12 us more, \
             p = 0.00800, allowed: 2.5 us more."
        );
    }

    #[test]
    fn two_adjacent_bins_are_nowhere_wider_than_what_never_matters() {
        let share = |value: i64| {
            let (lower, middle) = FINE.edges_of(value);
            (FINE.edges_of(middle).1 - lower) as f64 / lower as f64
        };
        let widest = (1_000..200_000).map(share).fold(0.0, f64::max);
        assert!(widest <= TWO_BINS && widest > 0.99 * TWO_BINS, "{widest}");
    }
}
