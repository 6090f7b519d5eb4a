//! Which of several ways to use: wake methods of one run that were measured in interleaved rounds, or two groups of boots.
//!
//! A way is recommended if its statistic is lower than that of every other way, each tested over the rounds and corrected for their number.
//! A recommendation is thus wrong less often than a single test: it needs several to be wrong.

use serde::Serialize;
use tardy_analyse::outcome;
use tardy_analyse::quantile::{CONFIDENCE, LEVELS};
use tardy_record::Run;
use tardy_record::load_spec::LoadSpec;
use tardy_statistics::median;
use tardy_statistics::permutation::{self, holm};

use crate::versus::{Effect, Quantity, Statistic, Versus, value_of_each_round};

/// With fewer rounds there is a table, and no recommendation.
pub const ROUNDS_MIN: usize = 5;
/// The seed of drawn permutations.
const SEED: u64 = 1;

/// One way, with a value for each round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    /// Its name, such as a wake method or a kernel.
    pub name: String,
    /// The statistic of each round, lower is better.
    pub values: Vec<f64>,
}

/// What several ways were measured for, and which one to use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    /// The loads; empty without load.
    pub loads: Vec<LoadSpec>,
    /// The name of the statistic, such as `p99.9`.
    pub statistic: &'static str,
    /// The number of rounds of each way; the lowest if they differ.
    pub rounds: usize,
    /// The answer.
    pub answer: Answer,
}

/// Which way to use.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Answer {
    /// This one.
    Use {
        /// The way with the lowest median.
        best: String,
        /// The way with the next lowest median.
        next: String,
        /// The best over the next.
        ratio: Effect,
        /// The highest p-value of the tests against all others, corrected for their number.
        p: f64,
    },
    /// The data do not decide.
    Undecided {
        /// The way with the lowest median, and those from which it cannot be distinguished.
        between: Vec<String>,
        /// The highest corrected p-value.
        p: f64,
    },
    /// There are fewer than [`ROUNDS_MIN`] rounds.
    TooFewRounds,
}

/// The recommendation for these ways; `None` for fewer than two.
pub fn of_ways(ways: &[Way], loads: &[LoadSpec], statistic: &'static str) -> Option<Recommendation> {
    let rounds = ways.iter().map(|way| way.values.len()).min()?;
    let answer = match (ways.len(), rounds) {
        (0 | 1, _) => return None,
        (_, rounds) if rounds < ROUNDS_MIN => Answer::TooFewRounds,
        _ => answer(ways, statistic)?,
    };
    Some(Recommendation { loads: loads.to_vec(), statistic, rounds, answer })
}

fn answer(ways: &[Way], statistic: &'static str) -> Option<Answer> {
    let mut order: Vec<(f64, &Way)> =
        ways.iter().map(|way| Some((median::of(&way.values)?, way))).collect::<Option<_>>()?;
    order.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (best, others) = (order[0].1, &order[1..]);
    let p_values: Vec<f64> = others
        .iter()
        .map(|(_, other)| {
            let test = permutation::test(&other.values, &best.values, permutation::Statistic::RankSum, SEED);
            test.map(|test| test.p).ok()
        })
        .collect::<Option<_>>()?;
    let corrected = holm(&p_values);
    let p = corrected.iter().copied().fold(0.0, f64::max);
    let similar = others.iter().zip(&corrected).filter(|(_, p)| **p > 1.0 - CONFIDENCE);
    let between: Vec<String> = similar.map(|((_, way), _)| way.name.clone()).collect();
    if !between.is_empty() {
        return Some(Answer::Undecided { between: [vec![best.name.clone()], between].concat(), p });
    }
    let next = others[0].1;
    let values = [&next.values, &best.values].map(|values| values.iter().copied().map(Some).collect());
    let ratio = Statistic::of(statistic, Quantity::Ns, values).ratio?;
    Some(Answer::Use { best: best.name.clone(), next: next.name.clone(), ratio, p })
}

/// Which group of a tested comparison to use; `None` if nothing was tested, or if not all values are known.
pub fn of_versus(versus: &Versus) -> Option<Recommendation> {
    let experiment = versus.experiments.get(versus.primary?)?;
    let statistic = experiment.statistic(versus.primary_statistic?)?;
    statistic.test?;
    let way = |name: &str, values: &[Option<f64>]| {
        Some(Way { name: name.to_owned(), values: values.iter().copied().collect::<Option<_>>()? })
    };
    let ways = [way(&versus.base.name, &statistic.base)?, way(&versus.candidate.name, &statistic.candidate)?];
    of_ways(&ways, &experiment.loads, statistic.name)
}

/// Which wake method to use under each load, if the run measured several in interleaved rounds.
pub fn of_run(run: &Run) -> Vec<Recommendation> {
    if !is_interleaved(run) {
        return Vec::new();
    }
    // A relative sleep has no schedule: if there is one, missed periods count for none.
    let without_missed = run.own_series().any(|series| series.corrected.is_none());
    // By load, in the order of the run.
    let mut of_loads: Vec<(Vec<LoadSpec>, Vec<Way>)> = Vec::new();
    for outcome in outcome::of(run) {
        let Some(wake) = outcome.key.wake.filter(|_| outcome.key.source.is_none()) else { continue };
        let series: Vec<_> = outcome.series.iter().map(|index| &run.series[*index]).collect();
        let Some(values) = value_of_each_round(run, &series, LEVELS[2], without_missed) else { continue };
        let way = Way { name: wake.name().to_owned(), values };
        match of_loads.iter_mut().find(|(loads, _)| *loads == outcome.key.loads) {
            Some((_, ways)) => ways.push(way),
            None => of_loads.push((outcome.key.loads, vec![way])),
        }
    }
    of_loads.iter().filter_map(|(loads, ways)| of_ways(ways, loads, LEVELS[2].name)).collect()
}

/// Whether the run has several rounds, each of which was complete before the next began.
fn is_interleaved(run: &Run) -> bool {
    let rounds: Vec<u32> = run.plan.phases.iter().map(|phase| phase.round).collect();
    rounds.is_sorted() && rounds.first() != rounds.last() && run.validity.valid
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(values: &[(&str, [f64; 5])]) -> Vec<Way> {
        values
            .iter()
            .map(|(name, values)| Way { name: (*name).to_owned(), values: values.to_vec() })
            .collect()
    }

    #[test]
    fn the_way_that_is_lower_than_every_other_is_recommended() {
        let three = ways(&[
            ("slow", [9.0, 9.5, 9.1, 9.9, 9.3]),
            ("fast", [1.0, 1.1, 1.2, 1.05, 1.15]),
            ("middle", [2.0, 2.2, 2.1, 2.4, 2.3]),
        ]);
        let found = of_ways(&three, &[], "p99.9").unwrap();
        let Answer::Use { best, next, ratio, p } = found.answer else { panic!("{found:?}") };
        assert_eq!((best.as_str(), next.as_str(), found.rounds), ("fast", "middle", 5));
        assert!((0.45..0.55).contains(&ratio.estimate) && ratio.high.unwrap() < 1.0, "{ratio:?}");
        assert!((p - 2.0 * 2.0 / 252.0).abs() < 1e-12, "corrected for two tests: {p}");
    }

    #[test]
    fn ways_that_cannot_be_distinguished_are_named() {
        let three = ways(&[
            ("a", [1.0, 1.4, 1.2, 1.05, 1.15]),
            ("b", [1.1, 1.3, 1.25, 1.0, 1.2]),
            ("slow", [9.0, 9.5, 9.1, 9.9, 9.3]),
        ]);
        let found = of_ways(&three, &[], "p99.9").unwrap();
        let Answer::Undecided { between, p } = found.answer else { panic!("{found:?}") };
        assert_eq!(between, ["a", "b"]);
        assert!(p > 0.05);
    }

    #[test]
    fn few_rounds_and_one_way_have_no_recommendation() {
        let mut two = ways(&[("a", [1.0; 5]), ("b", [2.0; 5])]);
        two[0].values.truncate(4);
        assert_eq!(of_ways(&two, &[], "p99.9").unwrap().answer, Answer::TooFewRounds);
        assert_eq!(of_ways(&two[..1], &[], "p99.9"), None);
    }
}
