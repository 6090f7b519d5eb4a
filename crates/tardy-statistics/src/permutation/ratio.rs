//! The ratio of two rates of exceedances, from the counts alone.

use crate::binomial;
use crate::interval::Ends;

/// How many times more often B exceeds a limit than A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExceedanceRatio {
    /// The rate of B by that of A; `None` if neither exceeded the limit. Infinite if only B did.
    pub ratio: Option<f64>,
    /// The interval of the ratio; an end is `None` if the counts do not determine it.
    pub interval: Ends,
    /// The two-sided p-value of equal rates: twice the smaller tail.
    pub p: f64,
}

/// Compares `exceeding_a` exceedances in `count_a` values with `exceeding_b` in `count_b`.
///
/// For rare exceedances, their number in B given the sum of both is binomial, with a probability that depends on the ratio
/// of the rates only (Przyborowski and Wilenski, Biometrika 31, 1940); the interval is Clopper and Pearson's. It compares two
/// runs, or several pooled after a test of their dispersion, and says nothing about the scatter between boots.
///
/// `dispersion` is the variance of counts per block by their mean, 1 for independent exceedances: both counts are divided by
/// it, and rounded to the nearest integer.
pub fn exceedance_ratio(
    (exceeding_a, count_a): (u64, u64),
    (exceeding_b, count_b): (u64, u64),
    dispersion: f64,
    confidence: f64,
) -> ExceedanceRatio {
    let effective = |exceeding: u64| {
        if dispersion > 1.0 { (exceeding as f64 / dispersion).round() as u64 } else { exceeding }
    };
    let (of_a, of_b) = (effective(exceeding_a), effective(exceeding_b));
    let sum = of_a.saturating_add(of_b);
    let time_ratio = count_a as f64 / count_b as f64;
    let ratio = (exceeding_a + exceeding_b > 0).then(|| exceeding_b as f64 / exceeding_a as f64 * time_ratio);
    if sum == 0 || count_a == 0 || count_b == 0 {
        return ExceedanceRatio { ratio, interval: Ends { low: None, high: None }, p: 1.0 };
    }
    let of_share = |share: f64| share / (1.0 - share) * time_ratio;
    let one_sided = 0.5 + 0.5 * confidence;
    let low = (of_b > 0).then(|| of_share(binomial::lower_bound(of_b, sum, one_sided)));
    let high = (of_a > 0).then(|| of_share(binomial::upper_bound(of_b, sum, one_sided)));
    let share = count_b as f64 / (count_a as f64 + count_b as f64);
    let tail = binomial::at_most(of_b, sum, share).min(binomial::at_least(of_b, sum, share));
    ExceedanceRatio { ratio, interval: Ends { low, high }, p: (2.0 * tail).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, relative: f64) {
        assert!((found / expected - 1.0).abs() < relative, "{found} is not {expected}");
    }

    /// research/statistics.md section 3.3: 2 and 11 in 3.6 million each.
    #[test]
    fn the_ratio_agrees_with_the_reference_values() {
        let found = exceedance_ratio((2, 3_600_000), (11, 3_600_000), 1.0, 0.95);
        close(found.ratio.unwrap(), 5.5, 1e-12);
        close(found.p, 0.022_460_937_5, 1e-9);
        close(found.interval.low.unwrap(), 1.20, 5e-3);
        close(found.interval.high.unwrap(), 51.1, 2e-3);
    }

    #[test]
    fn counts_of_unequal_times_are_rates() {
        let found = exceedance_ratio((20, 1_000_000), (10, 500_000), 1.0, 0.95);
        close(found.ratio.unwrap(), 1.0, 1e-12);
        assert!(found.p > 0.9 && found.interval.contain(1.0));
    }

    #[test]
    fn clusters_make_the_interval_wider() {
        let independent = exceedance_ratio((20, 1_000_000), (60, 1_000_000), 1.0, 0.95);
        let clustered = exceedance_ratio((20, 1_000_000), (60, 1_000_000), 10.0, 0.95);
        assert!(independent.p < 1e-4 && clustered.p > 0.1);
        assert!(clustered.interval.high > independent.interval.high);
        assert_eq!(clustered.ratio, independent.ratio);
    }

    #[test]
    fn a_side_without_exceedances_has_an_open_end() {
        let found = exceedance_ratio((0, 1_000_000), (9, 1_000_000), 1.0, 0.95);
        assert_eq!((found.ratio, found.interval.high), (Some(f64::INFINITY), None));
        assert!(found.interval.low.unwrap() > 1.0);
        assert_eq!(exceedance_ratio((0, 10), (0, 10), 1.0, 0.95).p, 1.0);
        assert_eq!(exceedance_ratio((0, 10), (0, 10), 1.0, 0.95).ratio, None);
    }
}
