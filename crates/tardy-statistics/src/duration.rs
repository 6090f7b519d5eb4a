//! How long to measure: how many values show that an event is rare, and how probable it is to see it.

mod sequential;

pub use sequential::Sequential;

use crate::binomial;
use crate::distributions::chi_square_quantile;

/// The most late values that may be allowed. With more, the quantiles take longer to compute than anybody waits.
const ALLOWED_MAX: u64 = 1_000_000_000;

/// The smallest number of independent values of which at most `allowed` may be late to show, with this `confidence`, that
/// the probability of a late one is below `probability`. `None` if the probability or the confidence is not between 0 and 1,
/// if more than 10⁹ are allowed, or if the number does not fit.
///
/// For none allowed it is ⌈ln(1−c)/ln(1−p)⌉; otherwise the smallest n with P(X ≤ k) ≤ 1−c for X binomial, which is close to
/// χ²_{c; 2k+2}/(2p).
pub fn values_needed(probability: f64, confidence: f64, allowed: u64) -> Option<u64> {
    let is_share = |x: f64| x > 0.0 && x < 1.0;
    if !is_share(probability) || !is_share(confidence) || allowed > ALLOWED_MAX {
        return None;
    }
    if allowed == 0 {
        let needed = (libm::log(1.0 - confidence) / libm::log1p(-probability)).ceil();
        return (needed < 2f64.powi(63)).then_some(needed as u64);
    }
    // The approximation is a little high for probabilities that are not small.
    let approximate = 0.5 * chi_square_quantile(confidence, 2.0 * allowed as f64 + 2.0) / probability;
    if approximate * 2.0 >= 2f64.powi(63) {
        return None;
    }
    let shows = |n: u64| binomial::at_most(allowed, n, probability) <= 1.0 - confidence;
    let (mut low, mut high) = (allowed, approximate as u64 + allowed + 2);
    while !shows(high) {
        high *= 2;
    }
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if shows(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The probability to see at least one of the events that come at `rate` per unit of time, at random times, within `time`.
pub fn probability_to_see(rate: f64, time: f64) -> f64 {
    -libm::expm1(-rate * time)
}

/// How long to measure to see such an event with this probability; `None` for a rate that is not positive.
pub fn time_to_see(rate: f64, probability: f64) -> Option<f64> {
    (rate > 0.0 && (0.0..1.0).contains(&probability)).then(|| -libm::log1p(-probability) / rate)
}

/// The rate of an event of which none was seen within `time`: with this `confidence` it is not higher. `None` for a time that
/// is not positive.
pub fn rate_possibly_missed(time: f64, confidence: f64) -> Option<f64> {
    (time > 0.0 && (0.0..1.0).contains(&confidence)).then(|| -libm::log1p(-confidence) / time)
}

/// The interval of the rate of independent events, of which `events` were seen within `time` (Garwood, Biometrika 28, 1936).
/// `None` for a time that is not positive.
pub fn rate_interval(events: u64, time: f64, confidence: f64) -> Option<(f64, f64)> {
    if !(time > 0.0 && (0.0..1.0).contains(&confidence)) {
        return None;
    }
    let tail = 0.5 * (1.0 - confidence);
    let bound = |level: f64, freedom: f64| chi_square_quantile(level, freedom) / (2.0 * time);
    let events = events as f64;
    let low = if events == 0.0 { 0.0 } else { bound(tail, 2.0 * events) };
    Some((low, bound(1.0 - tail, 2.0 * events + 2.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, relative: f64) {
        assert!((found / expected - 1.0).abs() < relative, "{found} is not {expected}");
    }

    /// The reference table of research/statistics.md section 4.
    #[test]
    fn numbers_of_values_agree_with_the_reference_values() {
        for (p, confidence, n) in [
            (1e-3, 0.95, 2995),
            (1e-5, 0.95, 299_572),
            (1e-6, 0.95, 2_995_731),
            (1e-6, 0.99, 4_605_168),
            (0.05, 0.95, 59),
        ] {
            assert_eq!(values_needed(p, confidence, 0), Some(n));
        }
        // The factors of section 3.1.
        for (allowed, factor) in [(1, 4.7439), (2, 6.2958), (3, 7.7537), (5, 10.513), (10, 16.962)] {
            close(values_needed(1e-6, 0.95, allowed).unwrap() as f64 * 1e-6, factor, 2e-5);
        }
        close(values_needed(1e-9, 0.99, 5).unwrap() as f64 * 1e-9, 13.109, 1e-4);
    }

    #[test]
    fn one_value_fewer_does_not_show_it() {
        for (p, allowed) in [(0.3, 1), (0.01, 3), (1e-4, 20)] {
            let n = values_needed(p, 0.95, allowed).unwrap();
            assert!(binomial::upper_bound(allowed, n, 0.95) <= p * (1.0 + 1e-9));
            assert!(binomial::upper_bound(allowed, n - 1, 0.95) > p);
        }
        assert_eq!(values_needed(0.0, 0.95, 0), None);
        assert_eq!(values_needed(0.5, 1.0, 3), None);
        assert_eq!(values_needed(1e-30, 0.95, 3), None);
    }

    /// research/statistics.md section 3: a run of 30 minutes misses an hourly event in 60.7 %; three times the mean distance
    /// shows it with 95 %.
    #[test]
    fn rare_events_are_missed() {
        close(1.0 - probability_to_see(1.0, 0.5), 0.606_531, 1e-5);
        close(time_to_see(1.0, 0.95).unwrap(), 2.995_732, 1e-6);
        close(rate_possibly_missed(0.5, 0.95).unwrap(), 5.991_465, 1e-6);
        assert_eq!((time_to_see(0.0, 0.95), rate_possibly_missed(0.0, 0.95)), (None, None));
    }

    /// Garwood's limits in the reference table.
    #[test]
    fn rates_agree_with_the_reference_values() {
        let (low, high) = rate_interval(2, 1.0, 0.95).unwrap();
        close(low, 0.242_21, 1e-5);
        close(high, 7.224_69, 1e-5);
        let (low, high) = rate_interval(0, 1.0, 0.95).unwrap();
        assert_eq!(low, 0.0);
        close(high, 3.688_88, 1e-5);
    }
}
