//! Bisection: the first bad one in a list whose first is good and whose last is bad.
//!
//! If good ones follow bad ones, a change from good to bad is found all the same, though not the only one.

use serde::Serialize;
use thiserror::Error;

use crate::Verdict;

/// A search among a number of candidates, from the good end to the bad end.
#[derive(Clone, Debug)]
pub struct Bisection {
    verdicts: Vec<Option<Verdict>>,
    /// The last good one before `bad`.
    good: usize,
    /// The first bad one after `good`.
    bad: usize,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The last good one.
    pub last_good: usize,
    /// The first bad one.
    pub first_bad: usize,
    /// Those between them, which could not be tested: each of them may be the first bad one too.
    pub untestable: Vec<usize>,
}

/// Why there is nothing to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EndError {
    /// The ends do not differ.
    #[error("both ends are good")]
    BothGood,
    /// The ends do not differ.
    #[error("both ends are bad")]
    BothBad,
    /// The good end is bad, and the bad end good.
    #[error("the ends are the other way round: the good one is bad, and the bad one is good")]
    Reversed,
    /// The first could not be tested.
    #[error("the good end could not be tested")]
    GoodUntestable,
    /// The last could not be tested.
    #[error("the bad end could not be tested")]
    BadUntestable,
}

impl Bisection {
    /// Among `count` candidates, of which the first should be good and the last bad. Both are tested first.
    ///
    /// # Panics
    /// If there are fewer than two.
    pub fn among(count: usize) -> Self {
        assert!(count >= 2, "a bisection has two ends");
        Self { verdicts: vec![None; count], good: 0, bad: count - 1 }
    }

    /// The candidate to test next; `None` if the search is over.
    ///
    /// # Errors
    /// If the ends do not differ as they should.
    pub fn next(&self) -> Result<Option<usize>, EndError> {
        let last = self.verdicts.len() - 1;
        match (self.verdicts[0], self.verdicts[last]) {
            (None, _) => return Ok(Some(0)),
            (_, None) => return Ok(Some(last)),
            (Some(first), Some(last)) => check_ends(first, last)?,
        }
        let middle = self.good.midpoint(self.bad);
        let untested = (self.good + 1..self.bad).filter(|at| self.verdicts[*at].is_none());
        Ok(untested.min_by_key(|at| at.abs_diff(middle)))
    }

    /// Records the verdict of a candidate.
    pub fn record(&mut self, at: usize, verdict: Verdict) {
        self.verdicts[at] = Some(verdict);
        match verdict {
            Verdict::Good if at < self.bad => self.good = self.good.max(at),
            Verdict::Bad if at > self.good => self.bad = self.bad.min(at),
            _ => {}
        }
    }

    /// How many tests are left at most, if all can be tested.
    pub fn left(&self) -> u32 {
        let ends = [self.verdicts.first(), self.verdicts.last()];
        let untested = ends.iter().filter(|end| matches!(end, Some(None))).count() as u32;
        untested + (self.bad - self.good).next_power_of_two().ilog2()
    }

    /// The result, once [`Bisection::next`] returns `None`.
    pub fn found(&self) -> Found {
        let is_untestable = |at: &usize| self.verdicts[*at] == Some(Verdict::Untestable);
        Found {
            last_good: self.good,
            first_bad: self.bad,
            untestable: (self.good + 1..self.bad).filter(is_untestable).collect(),
        }
    }
}

/// Whether a search has a good end and a bad one.
pub(crate) fn check_ends(good: Verdict, bad: Verdict) -> Result<(), EndError> {
    match (good, bad) {
        (Verdict::Untestable, _) => Err(EndError::GoodUntestable),
        (_, Verdict::Untestable) => Err(EndError::BadUntestable),
        (Verdict::Good, Verdict::Good) => Err(EndError::BothGood),
        (Verdict::Bad, Verdict::Bad) => Err(EndError::BothBad),
        (Verdict::Bad, Verdict::Good) => Err(EndError::Reversed),
        (Verdict::Good, Verdict::Bad) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs a search, and returns the result and how many were tested.
    fn search(verdicts: &[Verdict]) -> Result<(Found, u32), EndError> {
        let mut bisection = Bisection::among(verdicts.len());
        let mut tests = 0;
        while let Some(at) = bisection.next()? {
            bisection.record(at, verdicts[at]);
            tests += 1;
        }
        Ok((bisection.found(), tests))
    }

    fn with_first_bad(count: usize, first_bad: usize) -> Vec<Verdict> {
        (0..count).map(|at| if at < first_bad { Verdict::Good } else { Verdict::Bad }).collect()
    }

    #[test]
    fn each_first_bad_one_is_found_in_as_few_tests_as_there_are_bits() {
        for count in 2..40 {
            let at_most = Bisection::among(count).left();
            for first_bad in 1..count {
                let (found, tests) = search(&with_first_bad(count, first_bad)).unwrap();
                assert_eq!((found.last_good, found.first_bad), (first_bad - 1, first_bad));
                assert!(tests <= at_most, "{tests} of {count}, announced {at_most}");
            }
        }
        assert_eq!(Bisection::among(33).left(), 7);
    }

    #[test]
    fn those_that_cannot_be_tested_are_named_if_they_may_be_the_first() {
        let mut verdicts = with_first_bad(10, 6);
        verdicts[4] = Verdict::Untestable;
        verdicts[5] = Verdict::Untestable;
        let (found, _) = search(&verdicts).unwrap();
        assert_eq!(found, Found { last_good: 3, first_bad: 6, untestable: vec![4, 5] });
        verdicts[2] = Verdict::Untestable;
        assert_eq!(search(&verdicts).unwrap().0.untestable, [4, 5]);
    }

    #[test]
    fn ends_that_do_not_differ_are_an_error_after_two_tests() {
        use Verdict::{Bad, Good, Untestable};
        for (ends, error) in [
            ([Good, Good], EndError::BothGood),
            ([Bad, Bad], EndError::BothBad),
            ([Bad, Good], EndError::Reversed),
            ([Untestable, Bad], EndError::GoodUntestable),
            ([Good, Untestable], EndError::BadUntestable),
        ] {
            let verdicts = [ends[0], Good, Bad, ends[1]];
            assert_eq!(search(&verdicts), Err(error));
        }
    }

    proptest! {
        #[test]
        fn whatever_the_verdicts_are_a_step_from_good_to_bad_is_found(inner in proptest::collection::vec(0_u8..3, 0..60)) {
            let of = |digit: &u8| [Verdict::Good, Verdict::Bad, Verdict::Untestable][usize::from(*digit)];
            let mut verdicts = vec![Verdict::Good];
            verdicts.extend(inner.iter().map(of));
            verdicts.push(Verdict::Bad);
            let (found, tests) = search(&verdicts).unwrap();
            prop_assert_eq!(verdicts[found.last_good], Verdict::Good);
            prop_assert_eq!(verdicts[found.first_bad], Verdict::Bad);
            prop_assert!(verdicts[found.last_good + 1..found.first_bad].iter().all(|one| *one == Verdict::Untestable));
            prop_assert!(tests as usize <= verdicts.len());
        }
    }
}
