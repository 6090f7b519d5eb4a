//! The binomial distribution, for ranks of quantiles and for bounds on rare events.
//!
//! The probability of one outcome is Loader's saddle-point expansion ("Fast and Accurate Computation of Binomial
//! Probabilities", 2000; R's dbinom). It is precise at n = 10^12, where differences of log-gamma are not. Tails are
//! sums of neighbouring terms. If a sum would have millions of terms, Edgeworth's expansion is used instead, with an
//! error of the order of 10^-10. The time is therefore short for every count that a run file can contain.
//!
//! Alternative not used: statrs 0.19. Its `Beta::inverse_cdf` is wrong in the fourth digit at n = 10^6, k = 3
//! (7.7527e-6 for 7.7536e-6) and does not return at n = 10^9; docs/adr/0005-binomial-tails.md has the table.

use std::f64::consts::{PI, SQRT_2};

use statrs::function::erf;

/// A sum ends at the first term that is smaller than this share of the sum so far.
const NEGLIGIBLE: f64 = 1e-17;

/// From this standard deviation on, tails are computed by Edgeworth's expansion instead of a sum.
const EXPANSION_FROM: f64 = 1e5;

/// The error of Stirling's formula: ln n! − ln(√(2πn) (n/e)^n).
fn stirling_error(n: f64) -> f64 {
    if n <= 15.0 {
        let factorial: f64 = (1..=n as u64).map(|i| i as f64).product();
        return if n == 0.0 {
            0.0
        } else {
            libm::log(factorial) - (n + 0.5) * libm::log(n) + n - 0.5 * libm::log(2.0 * PI)
        };
    }
    let square = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0) / square) / square) / square) / n
}

/// x ln(x/m) + m − x, without cancellation if x is near m.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * libm::log(x / mean) + mean - x;
    }
    let v = difference / (x + mean);
    let mut sum = difference * v;
    let mut term = 2.0 * x * v;
    for j in 1..1000 {
        term *= v * v;
        let next = sum + term / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// P(X = k) for X binomial with `n` trials of probability `p`.
pub fn probability(k: u64, n: u64, p: f64) -> f64 {
    let (x, trials, q) = (k as f64, n as f64, 1.0 - p);
    if k > n || !(0.0..=1.0).contains(&p) {
        return 0.0;
    }
    if k == 0 {
        return libm::exp(trials * libm::log1p(-p));
    }
    if k == n {
        return libm::exp(trials * libm::log(p));
    }
    if p == 0.0 || q == 0.0 {
        return 0.0;
    }
    let rest = trials - x;
    let exponent = stirling_error(trials)
        - stirling_error(x)
        - stirling_error(rest)
        - deviance(x, trials * p)
        - deviance(rest, trials * q);
    libm::exp(exponent - 0.5 * (libm::log(2.0 * PI) + libm::log(x) + libm::log1p(-x / trials)))
}

/// P(X ≤ k).
pub fn at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    let spread = (n as f64 * p * (1.0 - p)).sqrt();
    if spread > EXPANSION_FROM {
        return at_most_expanded(k as f64, n as f64 * p, p, spread);
    }
    if k as f64 > n as f64 * p {
        return 1.0 - from(k + 1, n, p);
    }
    let mut term = probability(k, n, p);
    let mut sum = term;
    let mut i = k;
    while i > 0 && term > sum * NEGLIGIBLE {
        term *= i as f64 * (1.0 - p) / ((n - i + 1) as f64 * p);
        sum += term;
        i -= 1;
    }
    sum
}

/// P(X ≥ k); precise for tiny probabilities.
pub fn at_least(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    let (mean, spread) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    if k as f64 > mean && k <= n && spread <= EXPANSION_FROM {
        from(k, n, p)
    } else {
        1.0 - at_most(k - 1, n, p)
    }
}

/// P(X ≤ k) by Edgeworth's expansion to the first order: Φ(z) + γ (1 − z²) φ(z) / 6, with the skewness γ and z at k +
/// ½; the error is of the order 1/(npq).
fn at_most_expanded(k: f64, mean: f64, p: f64, spread: f64) -> f64 {
    let z = (k + 0.5 - mean) / spread;
    let density = libm::exp(-0.5 * z * z) / (2.0 * PI).sqrt();
    let skewness = (1.0 - 2.0 * p) / spread;
    (0.5 * erf::erfc(-z / SQRT_2) + skewness * (1.0 - z * z) * density / 6.0).clamp(0.0, 1.0)
}

/// P(X ≥ k), for k above the mean.
fn from(k: u64, n: u64, p: f64) -> f64 {
    let mut term = probability(k, n, p);
    let mut sum = term;
    let mut i = k;
    while i < n && term > sum * NEGLIGIBLE {
        term *= (n - i) as f64 * p / ((i + 1) as f64 * (1.0 - p));
        sum += term;
        i += 1;
    }
    sum
}

/// The smallest k with P(X ≤ k) ≥ `level`: BinomInv in docs/statistics.md, section 3.1.
pub fn quantile(level: f64, n: u64, p: f64) -> u64 {
    let mean = n as f64 * p;
    let spread = (mean * (1.0 - p)).sqrt();
    let guess = mean - SQRT_2 * spread * erf::erfc_inv(2.0 * level);
    if spread > EXPANSION_FROM {
        return quantile_expanded(level, n, p, guess, spread);
    }
    // The normal approximation is off by a few steps; the exact value is found by steps from there.
    let mut k = (guess.max(0.0) as u64).min(n);
    let mut below = at_most(k, n, p);
    while below < level && k < n {
        k += 1;
        below += probability(k, n, p);
    }
    while k > 0 && below - probability(k, n, p) >= level {
        below -= probability(k, n, p);
        k -= 1;
    }
    k
}

/// The same as [`quantile`] by the expansion, with a bisection around the guess.
fn quantile_expanded(level: f64, n: u64, p: f64, guess: f64, spread: f64) -> u64 {
    let (mut low, mut high) = ((guess - spread).max(0.0) as u64, ((guess + spread) as u64).min(n));
    while low < high {
        let middle = u64::midpoint(low, high);
        if at_most(middle, n, p) >= level { high = middle } else { low = middle + 1 }
    }
    low
}

/// Clopper–Pearson upper bound on the probability of an event that occurred in `k` of `n` independent trials, with this
/// `confidence`: Beta⁻¹(confidence; k+1, n−k), computed as the p with P(X ≤ k) = 1 − confidence.
pub fn upper_bound(k: u64, n: u64, confidence: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    if k == 0 {
        return -libm::expm1(libm::log(1.0 - confidence) / n as f64);
    }
    let (mut low, mut high) = (k as f64 / n as f64, 1.0);
    // Bisection of ln p: the result may be as small as 10^-12, and 60 halvings give all its digits.
    for _ in 0..80 {
        let middle = (low * high).sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if at_most(k, n, middle) > 1.0 - confidence { low = middle } else { high = middle }
    }
    high
}

/// Clopper–Pearson lower bound on the probability of an event that occurred in `k` of `n` independent trials: the p with
/// P(X ≥ k) = 1 − confidence; 0 if the event did not occur.
pub fn lower_bound(k: u64, n: u64, confidence: f64) -> f64 {
    if k == 0 {
        return 0.0;
    }
    if k >= n {
        return libm::exp(libm::log(1.0 - confidence) / n as f64);
    }
    let (mut low, mut high) = (f64::MIN_POSITIVE, k as f64 / n as f64);
    // Bisection of ln p, which spans up to 700 octaves.
    for _ in 0..100 {
        let middle = libm::exp(libm::log(low) * 0.5 + libm::log(high) * 0.5);
        if middle <= low || middle >= high {
            break;
        }
        if at_least(k, n, middle) < 1.0 - confidence { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, relative: f64) {
        assert!((found / expected - 1.0).abs() < relative, "{found:e} is not {expected:e}");
    }

    /// Reference values of research/statistics.md section 4, and closed forms.
    #[test]
    fn clopper_pearson_agrees_with_the_reference_values() {
        close(upper_bound(3, 1_000_000, 0.95), 7.7536381e-6, 1e-7);
        close(upper_bound(0, 1_000, 0.95), 1.0 - libm::pow(0.05f64, 1e-3), 1e-10);
        close(upper_bound(0, 1_000_000_000_000, 0.95), 2.995732273554e-12, 1e-10);
        close(upper_bound(3, 1_000_000_000_000, 0.95), 7.753656527933e-12, 1e-9);
        // At n = 10^9 the Poisson limit χ²_{c;2k+2}/(2n) is exact to nine digits.
        for (k, half_chi_square) in [
            (0, 2.9957323),
            (1, 4.7438645),
            (2, 6.2957936),
            (3, 7.7536565),
            (5, 10.5130349),
            (10, 16.9622192),
        ] {
            close(upper_bound(k, 1_000_000_000, 0.95) * 1e9, half_chi_square, 1e-7);
        }
        close(upper_bound(0, 1_000_000_000, 0.99) * 1e9, 4.6051702, 1e-7);
        close(upper_bound(5, 1_000_000_000, 0.99) * 1e9, 13.1084835, 1e-7);
        // Garwood's two-sided 95 % limits for 2 and 0 events.
        close(upper_bound(2, 1_000_000_000, 0.975) * 1e9, 7.22469, 1e-5);
        close(upper_bound(0, 1_000_000_000, 0.975) * 1e9, 3.68888, 1e-5);
    }

    #[test]
    fn ranks_agree_with_the_reference_values() {
        for (n, q, lower, upper) in
            [(1000, 0.99, 983, 997), (1000, 0.5, 469, 532), (100_000, 0.999, 99_880, 99_920)]
        {
            assert_eq!((quantile(0.025, n, q), quantile(0.975, n, q) + 1), (lower, upper), "n={n} q={q}");
        }
    }

    /// scipy 1.17: `binomtest(11, 13).proportion_ci(0.95)`, `stats.beta.ppf`.
    #[test]
    fn lower_bounds_agree_with_the_reference_values() {
        close(lower_bound(11, 13, 0.975), 0.545_528_944_3, 1e-7);
        close(lower_bound(2, 1_000_000_000, 0.975) * 1e9, 0.242_209, 1e-5);
        close(lower_bound(10, 10, 0.95), libm::pow(0.05f64, 0.1), 1e-12);
        assert_eq!(lower_bound(0, 10, 0.95), 0.0);
    }

    #[test]
    fn a_bound_for_very_many_wakeups_is_fast() {
        let bound = upper_bound(500_000_000, 1_000_000_000, 0.95);
        close(bound, 0.5 + 1.6448536 * (0.25e-9f64).sqrt(), 1e-6);
    }

    #[test]
    fn sum_and_expansion_agree_near_the_switch_between_them() {
        for (n, p, z) in
            [(20_000_000_000u64, 0.5, -1.96), (1_000_000_000_000, 0.0099, 1.96), (39_000_000_000, 0.5, 0.3)]
        {
            let (mean, spread) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
            let k = (mean + z * spread) as u64;
            assert!(spread < EXPANSION_FROM);
            let (summed, expanded) = (at_most(k, n, p), at_most_expanded(k as f64, mean, p, spread));
            assert!((summed - expanded).abs() < 1e-9, "{summed} {expanded}");
        }
    }

    #[test]
    fn extremely_large_counts_are_fast() {
        let n = u64::MAX;
        close(upper_bound(n / 4, n, 0.95), 0.25, 1e-6);
        close(quantile(0.975, n, 0.5) as f64, n as f64 / 2.0, 1e-6);
        assert!(upper_bound(1, n, 0.95) < 1e-18);
    }

    #[test]
    fn all_probabilities_add_up_to_one() {
        for (n, p) in [(1, 0.3), (17, 0.001), (299, 0.5), (250, 0.999)] {
            let sum: f64 = (0..=n).map(|k| probability(k, n, p)).sum();
            assert!((sum - 1.0).abs() < 1e-11, "{sum}");
            assert!((at_most(n / 2, n, p) + at_least(n / 2 + 1, n, p) - 1.0).abs() < 1e-11);
        }
    }

    #[test]
    fn a_quantile_is_the_smallest_that_reaches_its_level() {
        for (n, p) in [(1u64, 0.2), (100, 0.001), (99_999, 0.5), (54_321, 0.9999)] {
            for level in [0.001, 0.025, 0.5, 0.975, 0.999] {
                let k = quantile(level, n, p);
                assert!(at_most(k, n, p) >= level - 1e-9);
                assert!(k == 0 || at_most(k - 1, n, p) < level + 1e-9);
            }
        }
    }

    #[test]
    fn a_bound_is_outside_the_observed_share_and_becomes_narrower_with_n() {
        for (k, n) in [(0u64, 100u64), (1, 100), (49, 1_000), (7, 9_999_999)] {
            let (share, upper, lower) =
                (k as f64 / n as f64, upper_bound(k, n, 0.95), lower_bound(k, n, 0.95));
            assert!(upper > share && lower <= share);
            assert!(upper_bound(k, 2 * n, 0.95) < upper && upper_bound(k + 1, n, 0.95) > upper);
            assert!((at_most(k, n, upper) - 0.05).abs() < 1e-9);
            assert!(k == 0 || (at_least(k, n, lower) - 0.05).abs() < 1e-9);
        }
    }
}
