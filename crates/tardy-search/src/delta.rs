//! Delta debugging: the smallest set of differences that makes a run bad.
//!
//! The algorithm is ddmin (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE Transactions on
//! Software Engineering 28, 2002). Its result is minimal in that no single difference can be left out; several together could be,
//! in rare cases. A combination that cannot be tested counts as one that is not bad.

use std::collections::BTreeMap;

use crate::Verdict;
use crate::bisection::{EndError, check_ends};

/// The indices of the smallest set among `count` differences with which `test` is bad, in ascending order. `test` receives indices in
/// ascending order, and each set once. The empty set is tested first and must be good, then all together, which must be bad.
///
/// # Errors
/// If the ends do not differ, or `test` fails.
pub fn minimise<E: From<EndError>>(
    count: usize,
    mut test: impl FnMut(&[usize]) -> Result<Verdict, E>,
) -> Result<Vec<usize>, E> {
    let mut known: BTreeMap<Vec<usize>, Verdict> = BTreeMap::new();
    let mut verdict = |set: &[usize]| -> Result<Verdict, E> {
        if let Some(verdict) = known.get(set) {
            return Ok(*verdict);
        }
        let verdict = test(set)?;
        known.insert(set.to_vec(), verdict);
        Ok(verdict)
    };
    let all: Vec<usize> = (0..count).collect();
    check_ends(verdict(&[])?, verdict(&all)?)?;
    let mut bad = all;
    let mut parts = 2;
    while bad.len() >= 2 {
        match smaller(&bad, parts, &mut verdict)? {
            Some((set, of_parts)) => (bad, parts) = (set, of_parts),
            None if parts >= bad.len() => break,
            None => parts = (2 * parts).min(bad.len()),
        }
    }
    Ok(bad)
}

/// A bad subset of `bad`, and in how many parts it is to be split next: one of the parts, or all but one.
fn smaller<E>(
    bad: &[usize],
    parts: usize,
    verdict: &mut impl FnMut(&[usize]) -> Result<Verdict, E>,
) -> Result<Option<(Vec<usize>, usize)>, E> {
    let all: Vec<&[usize]> = split(bad, parts);
    for part in &all {
        if verdict(part)? == Verdict::Bad {
            return Ok(Some((part.to_vec(), 2)));
        }
    }
    for left_out in &all {
        let rest: Vec<usize> = bad.iter().filter(|one| !left_out.contains(one)).copied().collect();
        if rest.len() < bad.len() && verdict(&rest)? == Verdict::Bad {
            return Ok(Some((rest, (parts - 1).max(2))));
        }
    }
    Ok(None)
}

/// `set` in `parts` parts of nearly the same length.
fn split(set: &[usize], parts: usize) -> Vec<&[usize]> {
    let at = |part: usize| part * set.len() / parts;
    (0..parts).map(|part| &set[at(part)..at(part + 1)]).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Searches for the set `planted`, and returns what was found and how many sets were tested.
    fn search(count: usize, planted: &[usize]) -> Result<(Vec<usize>, usize), EndError> {
        let mut tests = 0;
        let found = minimise(count, |set| {
            tests += 1;
            Ok::<_, EndError>(match planted.iter().all(|one| set.contains(one)) {
                true => Verdict::Bad,
                false => Verdict::Good,
            })
        })?;
        Ok((found, tests))
    }

    #[test]
    fn an_option_planted_among_twenty_is_found() {
        for planted in 0..20 {
            let (found, tests) = search(20, &[planted]).unwrap();
            assert_eq!(found, [planted]);
            assert!(tests <= 12, "{tests} tests for {planted}");
        }
    }

    #[test]
    fn options_that_are_bad_only_together_are_found_together() {
        let (found, tests) = search(20, &[3, 17]).unwrap();
        assert_eq!(found, [3, 17]);
        assert!(tests < 60, "{tests}");
        assert_eq!(search(20, &[0, 1, 19]).unwrap().0, [0, 1, 19]);
    }

    #[test]
    fn combinations_that_cannot_be_tested_do_not_end_the_search() {
        // Option 4 is bad, and no kernel is built with option 5 unless 6 is set too.
        let found = minimise(8, |set: &[usize]| {
            Ok::<_, EndError>(match (set.contains(&5), set.contains(&6), set.contains(&4)) {
                (true, false, _) => Verdict::Untestable,
                (_, _, true) => Verdict::Bad,
                _ => Verdict::Good,
            })
        });
        assert_eq!(found.unwrap(), [4]);
    }

    #[test]
    fn ends_that_do_not_differ_are_an_error() {
        let of = |verdict| minimise(5, |_: &[usize]| Ok::<_, EndError>(verdict));
        assert_eq!(of(Verdict::Good), Err(EndError::BothGood));
        assert_eq!(of(Verdict::Bad), Err(EndError::BothBad));
        assert_eq!(of(Verdict::Untestable), Err(EndError::GoodUntestable));
    }

    proptest! {
        #[test]
        fn what_is_planted_is_found_and_nothing_else(
            count in 1_usize..40,
            chosen in proptest::collection::btree_set(0_usize..40, 1..5),
        ) {
            let planted: Vec<usize> = chosen.into_iter().filter(|one| *one < count).collect();
            prop_assume!(!planted.is_empty());
            prop_assert_eq!(search(count, &planted).unwrap().0, planted);
        }
    }
}
