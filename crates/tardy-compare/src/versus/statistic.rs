//! One statistic of every observation: its values, the effect and the test.

use serde::Serialize;
use tardy_analyse::quantile::CONFIDENCE;
use tardy_statistics::median;
use tardy_statistics::permutation::{self, Method, Permutation};

/// The seed of drawn permutations, so that the same runs give the same p-value.
const SEED: u64 = 1;

/// An effect with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The estimate of Hodges and Lehmann: the median of all differences of a value of the candidate and one of the base.
    pub estimate: f64,
    /// Lower end of the 95 % interval; `None` if there are too few observations to determine it.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// A permutation test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Test {
    /// The probability of a difference at least as large if the factor has no effect.
    pub p: f64,
    /// The same corrected for the number of secondary tests (Holm); `None` for the primary test.
    pub p_corrected: Option<f64>,
    /// Whether all assignments of the observations to the groups were counted, or random ones drawn.
    pub exact: bool,
    /// The number of assignments.
    pub assignments: u64,
}

impl Test {
    fn of(test: &Permutation) -> Self {
        let (exact, assignments) = match test.method {
            Method::Exact { assignments } => (true, assignments),
            Method::Drawn { assignments } => (false, assignments),
        };
        Self { p: test.p, p_corrected: None, exact, assignments }
    }

    /// The p-value that decides: the corrected one of a secondary test.
    pub fn deciding_p(&self) -> f64 {
        self.p_corrected.unwrap_or(self.p)
    }

    /// Whether a difference is shown, at 5 %.
    pub fn shows_a_difference(&self) -> bool {
        self.deciding_p() <= 1.0 - CONFIDENCE
    }
}

/// What the values of a statistic are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Times in ns.
    Ns,
    /// Shares from 0 to 1.
    Share,
}

/// One statistic of all observations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statistic {
    /// Its name: `mean`, a quantile, `worst`, `time lost`.
    pub name: &'static str,
    /// What its values are.
    pub quantity: Quantity,
    /// The value of each observation of the base; `None` if it is not determined.
    pub base: Vec<Option<f64>>,
    /// The value of each observation of the candidate.
    pub candidate: Vec<Option<f64>>,
    /// The median of the base; `None` if a value is not determined.
    pub base_median: Option<f64>,
    /// The median of the candidate.
    pub candidate_median: Option<f64>,
    /// Candidate over base; `None` if a value is not determined.
    pub ratio: Option<Effect>,
    /// Candidate minus base.
    pub difference: Option<Effect>,
    /// The test; `None` if there is none of this statistic.
    pub test: Option<Test>,
}

impl Statistic {
    /// The statistic of these values, without a test.
    pub(crate) fn of(name: &'static str, quantity: Quantity, values: [Vec<Option<f64>>; 2]) -> Self {
        let known = values.each_ref().map(|values| values.iter().copied().collect::<Option<Vec<f64>>>());
        let medians = known.each_ref().map(|values| values.as_deref().and_then(median::of));
        let (mut ratio, mut difference) = (None, None);
        if let [Some(base), Some(candidate)] = &known {
            difference = effect(base, candidate, |shift| shift);
            ratio = effect(&logarithms(base, quantity), &logarithms(candidate, quantity), libm::exp);
        }
        let [base, candidate] = values;
        let [base_median, candidate_median] = medians;
        Self { name, quantity, base, candidate, base_median, candidate_median, ratio, difference, test: None }
    }

    /// Adds the test, if every value is determined.
    pub(super) fn tested(&mut self) {
        let known = |values: &[Option<f64>]| values.iter().copied().collect::<Option<Vec<f64>>>();
        if let (Some(base), Some(candidate)) = (known(&self.base), known(&self.candidate)) {
            // By ranks, so that the test agrees with the interval, and one extreme boot does not decide.
            let test = permutation::test(&base, &candidate, permutation::Statistic::RankSum, SEED);
            self.test = test.ok().as_ref().map(Test::of);
        }
    }

    /// Removes the intervals, which mean nothing if the groups are not comparable.
    pub(super) fn without_intervals(&mut self) {
        for effect in [&mut self.ratio, &mut self.difference].into_iter().flatten() {
            (effect.low, effect.high) = (None, None);
        }
    }
}

fn effect(base: &[f64], candidate: &[f64], unit: impl Fn(f64) -> f64) -> Option<Effect> {
    let shift = permutation::shift(base, candidate, CONFIDENCE).ok()?;
    Some(Effect {
        estimate: unit(shift.estimate),
        low: shift.interval.low.map(&unit),
        high: shift.interval.high.map(&unit),
    })
}

/// The logarithms of values, for a ratio. A wake-up may be early by the clock's resolution, and a loop may lose no time; a ratio
/// needs values above 0, so the least is 1 ns, or one part in 10⁹.
fn logarithms(values: &[f64], quantity: Quantity) -> Vec<f64> {
    let least = match quantity {
        Quantity::Ns => 1.0,
        Quantity::Share => 1e-9,
    };
    values.iter().map(|value| libm::log(value.max(least))).collect()
}
