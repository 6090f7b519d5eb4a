//! A versus B: tests that count boots or runs, not samples.
//!
//! Samples of one boot are not independent of each other: pooling them finds a difference between equal kernels in 93 % of
//! comparisons. A boot is one number here, for example the logarithm of its p99.9. If nothing differs between A and B, every
//! assignment of the boots to the two sides is equally likely, and the share of assignments at least as extreme as the
//! observed one is the p-value. No distribution is assumed.

mod ratio;
mod shift;

pub use ratio::{ExceedanceRatio, exceedance_ratio};
pub use shift::{Shift, shift, smallest_effect};

use crate::random::Random;

/// Up to this many values a side, every assignment is counted: at most 2,704,156.
pub const MOST_EXACT: usize = 12;
/// How many random assignments are drawn above that.
pub const DRAWN: u64 = 100_000;

/// What a permutation test compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The sum of ranks (Wilcoxon, Mann and Whitney). It agrees with the interval of [`shift()`], and one extreme boot does not
    /// decide it.
    RankSum,
    /// The difference of means. More powerful if values are nearly normal.
    Mean,
}

/// How a p-value was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All assignments were counted.
    Exact {
        /// How many there are.
        assignments: u64,
    },
    /// Random assignments were drawn; the observed one counts as one more.
    Drawn {
        /// How many were drawn.
        assignments: u64,
    },
}

/// The result of a permutation test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permutation {
    /// The two-sided p-value.
    pub p: f64,
    /// How it was computed.
    pub method: Method,
    /// The smallest p-value that so many values can have: 2/(n choose a), for exact tests.
    pub floor: f64,
}

/// Why two samples cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLittle {
    /// A side has no values.
    Empty,
    /// A value is not finite, or, for a ratio, not positive.
    NotFinite,
}

impl std::fmt::Display for TooLittle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Empty => "one side has no values; measure at least one boot of each",
            Self::NotFinite => "a value is not a finite number, or not positive where a ratio is computed",
        })
    }
}

impl std::error::Error for TooLittle {}

/// Tests whether A and B have the same distribution. The same `seed` gives the same p-value.
///
/// # Errors
///
/// A side is empty, or a value is not finite.
pub fn test(a: &[f64], b: &[f64], statistic: Statistic, seed: u64) -> Result<Permutation, TooLittle> {
    check(a, b)?;
    let scores = scores(a, b, statistic);
    let total: f64 = scores.iter().sum();
    let expected = total * a.len() as f64 / scores.len() as f64;
    let distance = |sum: f64| (sum - expected).abs();
    // Sums in another order differ in their last digits; such sums are equal.
    let observed =
        distance(scores[..a.len()].iter().sum()) - 1e-9 * scores.iter().map(|score| score.abs()).sum::<f64>();
    if a.len() <= MOST_EXACT && b.len() <= MOST_EXACT {
        let (mut extreme, mut assignments) = (0u64, 0u64);
        for_each_sum(&scores, a.len(), 0.0, &mut |sum| {
            assignments += 1;
            extreme += u64::from(distance(sum) >= observed);
        });
        let p = extreme as f64 / assignments as f64;
        return Ok(Permutation { p, method: Method::Exact { assignments }, floor: floor(a.len(), b.len()) });
    }
    let extreme = drawn(scores, a.len(), |sum| distance(sum) >= observed, seed);
    let p = (extreme + 1) as f64 / (DRAWN + 1) as f64;
    let floor = floor(a.len(), b.len()).max(1.0 / (DRAWN + 1) as f64);
    Ok(Permutation { p, method: Method::Drawn { assignments: DRAWN }, floor })
}

/// The smallest two-sided p-value of `a` and `b` values: 2/(a+b choose a), at most 1. With equal sides of 3 it is 0.10, of 4
/// 0.029, of 5 0.0079.
pub fn floor(a: usize, b: usize) -> f64 {
    let ways: f64 = (1..=a.min(b)).map(|i| (a.max(b) + i) as f64 / i as f64).product();
    (2.0 / ways).min(1.0)
}

/// Adjusts p-values of tests that are reported together (Holm, Scandinavian Journal of Statistics 6, 1979): the
/// probability that any true hypothesis has an adjusted p-value below α is at most α. In the order of the input.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&i, &j| p_values[i].total_cmp(&p_values[j]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest = 0.0f64;
    for (rank, &i) in order.iter().enumerate() {
        highest = highest.max((p_values.len() - rank) as f64 * p_values[i]).min(1.0);
        adjusted[i] = highest;
    }
    adjusted
}

fn check(a: &[f64], b: &[f64]) -> Result<(), TooLittle> {
    if a.is_empty() || b.is_empty() {
        return Err(TooLittle::Empty);
    }
    if a.iter().chain(b).all(|value| value.is_finite()) { Ok(()) } else { Err(TooLittle::NotFinite) }
}

/// The values or ranks of both sides, A's first.
fn scores(a: &[f64], b: &[f64], statistic: Statistic) -> Vec<f64> {
    let values: Vec<f64> = a.iter().chain(b).copied().collect();
    match statistic {
        Statistic::Mean => values,
        Statistic::RankSum => ranks(&values),
    }
}

/// Ranks from 1; equal values share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for same in order.chunk_by(|&i, &j| values[i] == values[j]) {
        for &i in same {
            ranks[i] = first as f64 + 0.5 * (same.len() as f64 + 1.0);
        }
        first += same.len();
    }
    ranks
}

/// Calls `visit` with the sum of every choice of `chosen` scores.
fn for_each_sum(scores: &[f64], chosen: usize, sum: f64, visit: &mut impl FnMut(f64)) {
    if chosen == 0 {
        return visit(sum);
    }
    for first in 0..=scores.len() - chosen {
        for_each_sum(&scores[first + 1..], chosen - 1, sum + scores[first], visit);
    }
}

/// How many of [`DRAWN`] random choices are extreme.
fn drawn(mut scores: Vec<f64>, chosen: usize, is_extreme: impl Fn(f64) -> bool, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut extreme = 0;
    for _ in 0..DRAWN {
        // The beginning of a Fisher–Yates shuffle is a random choice.
        for i in 0..chosen {
            let j = i + random.below(scores.len() - i);
            scores.swap(i, j);
        }
        extreme += u64::from(is_extreme(scores[..chosen].iter().sum()));
    }
    extreme
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, relative: f64) {
        assert!((found / expected - 1.0).abs() < relative, "{found} is not {expected}");
    }

    const A: [f64; 6] = [1.1, 2.3, 1.9, 3.2, 2.8, 2.2];
    const B: [f64; 5] = [2.9, 4.1, 3.6, 3.9, 2.5];

    /// scipy 1.16: `stats.mannwhitneyu(A, B, method='exact')` and `stats.permutation_test((A, B), difference of means)`.
    #[test]
    fn p_values_agree_with_scipy() {
        let ranks = test(&A, &B, Statistic::RankSum, 1).unwrap();
        close(ranks.p, 0.030_303_030_303, 1e-9);
        assert_eq!(ranks.method, Method::Exact { assignments: 462 });
        // scipy doubles the smaller tail, which is the same for equal sides.
        close(test(&A[..5], &B, Statistic::Mean, 1).unwrap().p, 0.047_619_047_619, 1e-9);
    }

    /// research/statistics.md section 3.3.
    #[test]
    fn the_floor_is_reached_by_separate_sides() {
        for (count, expected) in [(3, 0.10), (4, 0.0286), (5, 0.0079), (6, 0.002_16)] {
            let a: Vec<f64> = (0..count).map(f64::from).collect();
            let b: Vec<f64> = a.iter().map(|value| value + 100.0).collect();
            let found = test(&a, &b, Statistic::RankSum, 1).unwrap();
            close(found.p, found.floor, 1e-12);
            close(found.floor, expected, 0.01);
        }
        assert_eq!(floor(1, 1), 1.0);
    }

    #[test]
    fn twelve_a_side_are_counted_exactly_and_thirteen_are_drawn() {
        let values = |n: i32, shift: f64| (0..n).map(|i| f64::from(i * 7 % 13) + shift).collect::<Vec<_>>();
        let exact = test(&values(12, 0.0), &values(12, 3.0), Statistic::RankSum, 1).unwrap();
        assert_eq!(exact.method, Method::Exact { assignments: 2_704_156 });
        let drawn = test(&values(13, 0.0), &values(13, 3.0), Statistic::RankSum, 1).unwrap();
        assert_eq!(drawn.method, Method::Drawn { assignments: 100_000 });
        assert_eq!(drawn, test(&values(13, 0.0), &values(13, 3.0), Statistic::RankSum, 1).unwrap());
        assert!((drawn.p - exact.p).abs() < 0.05, "{drawn:?} {exact:?}");
    }

    #[test]
    fn equal_sides_do_not_differ() {
        assert_eq!(test(&[1.0; 5], &[1.0; 5], Statistic::RankSum, 1).unwrap().p, 1.0);
        assert_eq!(test(&[0.1, 0.2, 0.3], &[0.3, 0.1, 0.2], Statistic::Mean, 1).unwrap().p, 1.0);
        assert_eq!(test(&[], &[1.0], Statistic::Mean, 1), Err(TooLittle::Empty));
        assert_eq!(test(&[f64::NAN], &[1.0], Statistic::Mean, 1), Err(TooLittle::NotFinite));
    }

    /// R 4.2: `p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")`.
    #[test]
    fn holms_correction_agrees_with_r() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            close(*found, expected, 1e-12);
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    /// Rejections of 6+6 boots without a difference, with heavy tails: at most 5 %, since the test is exact.
    fn rejections(repetitions: u64, boots: usize, statistic: Statistic) -> f64 {
        let mut random = Random::new(boots as u64);
        let mut rejected = 0;
        for seed in 0..repetitions {
            let mut side = || (0..boots).map(|_| 1.0 / random.unit()).collect::<Vec<_>>();
            rejected += u64::from(test(&side(), &side(), statistic, seed).unwrap().p <= 0.05);
        }
        rejected as f64 / repetitions as f64
    }

    #[test]
    fn without_a_difference_few_tests_reject() {
        for statistic in [Statistic::RankSum, Statistic::Mean] {
            let found = rejections(1000, 6, statistic);
            assert!((0.015..=0.065).contains(&found), "{found}");
        }
    }

    #[test]
    #[ignore = "minutes; prints a table"]
    fn long_table_of_rejections_without_a_difference() {
        for (boots, repetitions) in [(5, 10_000), (6, 10_000), (8, 5_000), (10, 2_000), (14, 1_000)] {
            for statistic in [Statistic::RankSum, Statistic::Mean] {
                let found = rejections(repetitions, boots, statistic);
                println!("{boots:2} boots a side, {statistic:?}: rejected at 5 %: {:.2} %", 100.0 * found);
                assert!(found <= 0.06);
            }
        }
    }
}
