//! Wilcoxon's signed-rank test of paired differences, computed exactly, and the corresponding estimate of the shift.
//!
//! If a change has no effect, every difference is equally likely to have either sign. Given the sizes of the
//! differences, each of the 2^n assignments of signs is equally probable, and counting those whose sum of ranks is at
//! least as extreme gives the p-value without an assumption about the distribution. Differences of 0 are left out
//! (Wilcoxon 1945); equal sizes share their mean rank, and counting uses those ranks, so the test is exact with ties
//! too.
//!
//! A t-test is not suitable: maxima are not normally distributed, and a single stalled round would decide it.

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// How many differences are not 0.
    pub count: usize,
    /// Two-sided p-value; 1 if there is nothing to test.
    pub p: f64,
}

/// The least number of differences that can reach a p-value of `alpha`: n differences of the same sign have 2^(1−n).
pub fn least_count(alpha: f64) -> usize {
    (1..=1000u16).find(|n| 2f64.powi(1 - i32::from(*n)) <= alpha).map_or(1000, usize::from)
}

/// Tests whether `differences` are symmetric about 0. NaNs are left out.
pub fn test(differences: &[f64]) -> SignedRank {
    let mut sizes: Vec<(f64, bool)> = differences
        .iter()
        .filter(|difference| difference.is_finite() && **difference != 0.0)
        .map(|difference| (difference.abs(), *difference > 0.0))
        .collect();
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ranks = doubled_ranks(&sizes);
    let sum_above =
        sizes.iter().zip(&ranks).filter(|((_, above), _)| *above).map(|(_, rank)| rank).sum::<usize>();
    let probabilities = distribution(&ranks);
    let tail = |sums: &[f64]| sums.iter().sum::<f64>();
    let (below, above) = (tail(&probabilities[..=sum_above]), tail(&probabilities[sum_above..]));
    SignedRank { count: sizes.len(), p: (2.0 * below.min(above)).min(1.0) }
}

/// Twice the rank of each, so that the mean rank of equal sizes is a whole number.
fn doubled_ranks(sorted: &[(f64, bool)]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    for same in sorted.chunk_by(|a, b| a.0 == b.0) {
        let first = ranks.len() + 1;
        let last = ranks.len() + same.len();
        ranks.extend(std::iter::repeat_n(first + last, same.len()));
    }
    ranks
}

/// The probability of each sum of positive ranks if signs are random.
fn distribution(ranks: &[usize]) -> Vec<f64> {
    let mut probabilities = vec![0.0; ranks.iter().sum::<usize>() + 1];
    probabilities[0] = 1.0;
    let mut highest = 0;
    for rank in ranks {
        highest += rank;
        for sum in (0..=highest).rev() {
            let without = probabilities[sum];
            let with = if sum >= *rank { probabilities[sum - rank] } else { 0.0 };
            probabilities[sum] = (without + with) / 2.0;
        }
    }
    probabilities
}

/// The shift of the differences: the median of all pairwise means (Hodges and Lehmann 1963), and the interval of shifts
/// that the test would not reject at 1 − `confidence`; no interval if there are too few differences. `None` without
/// differences.
pub fn shift(differences: &[f64], confidence: f64) -> Option<(f64, Option<(f64, f64)>)> {
    let values: Vec<f64> = differences.iter().copied().filter(|value| value.is_finite()).collect();
    let mut means: Vec<f64> = (0..values.len())
        .flat_map(|one| (one..values.len()).map(move |other| (one, other)))
        .map(|(one, other)| f64::midpoint(values[one], values[other]))
        .collect();
    means.sort_by(f64::total_cmp);
    let middle = means.len() / 2;
    let median = match means.len() {
        0 => return None,
        count if count % 2 == 1 => means[middle],
        _ => f64::midpoint(means[middle - 1], means[middle]),
    };
    // The number of means beyond an end of the interval: the highest sum of ranks that is improbable enough.
    let ranks: Vec<usize> = (1..=values.len()).collect();
    let mut cumulated = 0.0;
    let allowed = distribution(&ranks)
        .into_iter()
        .take_while(|probability| {
            cumulated += probability;
            cumulated <= (1.0 - confidence) / 2.0
        })
        .count();
    let interval = allowed.checked_sub(1).map(|beyond| (means[beyond], means[means.len() - 1 - beyond]));
    Some((median, interval))
}

/// Corrects p-values for `of` tests, which may be more than are given (Holm 1979). The probability that any change
/// without an effect is reported then stays below the level, even if the tests depend on each other.
pub fn holm(p_values: &[f64], of: usize) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut corrected = vec![1.0; p_values.len()];
    let mut highest: f64 = 0.0;
    for (place, index) in order.into_iter().enumerate() {
        let factor = of.max(p_values.len()) - place;
        highest = highest.max((p_values[index] * factor as f64).min(1.0));
        corrected[index] = highest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn p_values_agree_with_counting_by_hand() {
        near(test(&[]).p, 1.0);
        near(test(&[1.0]).p, 1.0);
        near(test(&[1.0, 2.0, 3.0, 4.0, 5.0]).p, 2.0 / 32.0);
        // The assignments that are as extreme: all above 0, and all except rank 1; and both mirrored.
        near(test(&[-1.0, 2.0, 3.0, 4.0, 5.0]).p, 4.0 / 32.0);
        // Ties: ranks 1.5, 1.5, 3; sums 6, 4.5 (twice), 3 (twice) and so on. At least 4.5: 3 of 8.
        near(test(&[1.0, -1.0, 2.0]).p, 2.0 * 3.0 / 8.0);
        assert_eq!(test(&[0.0, 0.0, 1.0, f64::NAN]).count, 1);
    }

    #[test]
    fn the_least_count_is_the_first_that_reaches_alpha() {
        assert_eq!(least_count(0.05), 6);
        for alpha in [0.05, 0.005, 0.0005] {
            let n = least_count(alpha);
            let of = |n: usize| test(&(1..=n).map(|value| value as f64).collect::<Vec<_>>()).p;
            assert!(of(n) <= alpha && of(n - 1) > alpha, "{alpha}: {n}");
        }
    }

    #[test]
    fn the_interval_of_the_shift_agrees_with_the_test() {
        let values = [1.1, 0.9, 1.3, 0.8, 1.0, 1.2, 1.05, 0.95];
        let (median, interval) = shift(&values, 0.95).unwrap();
        assert!((0.95..1.1).contains(&median), "{median}");
        let (low, high) = interval.unwrap();
        let p_at = |shift: f64| test(&values.map(|value| value - shift)).p;
        assert!(p_at(low - 1e-6) <= 0.05 && p_at(low + 1e-6) > 0.05, "{low}");
        assert!(p_at(high + 1e-6) <= 0.05 && p_at(high - 1e-6) > 0.05, "{high}");
        assert_eq!(shift(&[1.0, 2.0], 0.95), Some((1.5, None)), "two values give no interval");
        assert_eq!(shift(&[], 0.95), None);
    }

    #[test]
    fn the_correction_is_that_of_holm() {
        assert_eq!(holm(&[0.01, 0.04, 0.03], 3), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.01], 10), [0.1]);
        assert_eq!(holm(&[0.9, 0.001], 2), [0.9, 0.002]);
    }

    proptest! {
        #[test]
        fn the_p_value_does_not_depend_on_the_sign(values in prop::collection::vec(-1e3..1e3_f64, 1..30)) {
            let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
            let (one, other) = (test(&values), test(&mirrored));
            prop_assert!((one.p - other.p).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&one.p) && one.p >= 2f64.powi(1 - one.count as i32) * (1.0 - 1e-9));
        }

        #[test]
        fn probabilities_add_up(values in prop::collection::vec(1u32..5, 1..40)) {
            let mut sizes: Vec<(f64, bool)> = values.iter().map(|value| (f64::from(*value), true)).collect();
            sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
            let total: f64 = distribution(&doubled_ranks(&sizes)).iter().sum();
            prop_assert!((total - 1.0).abs() < 1e-9);
        }
    }
}
