//! The normal, chi-square and Student distributions, from statrs's special functions.
//!
//! statrs's own inverses are not used, except that of erfc: docs/adr/0005-binomial-tails.md shows an inverse that is wrong in
//! the fourth digit. The inverses here are roots of the distribution functions.

use statrs::function::{beta, erf, gamma};

use crate::roots;

/// P(Z ≤ z) for Z standard normal.
pub fn normal_below(z: f64) -> f64 {
    0.5 * erf::erfc(-z / std::f64::consts::SQRT_2)
}

/// The z with P(Z ≤ z) = `level`, for a level between 0 and 1.
pub fn normal_quantile(level: f64) -> f64 {
    -std::f64::consts::SQRT_2 * erf::erfc_inv(2.0 * level)
}

/// P(X > x) for X chi-square with `freedom` degrees of freedom.
pub fn chi_square_above(x: f64, freedom: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma::gamma_ur(freedom / 2.0, x / 2.0) }
}

/// The x with P(X ≤ x) = `level` for X chi-square with `freedom` degrees of freedom.
pub fn chi_square_quantile(level: f64, freedom: f64) -> f64 {
    // In the upper half the complement is computed, which keeps the digits of levels near 1.
    let excess = |x: f64| {
        if level > 0.5 {
            (1.0 - level) - gamma::gamma_ur(freedom / 2.0, x / 2.0)
        } else {
            gamma::gamma_lr(freedom / 2.0, x / 2.0) - level
        }
    };
    let mut high = freedom + 10.0;
    while excess(high) < 0.0 {
        high *= 2.0;
    }
    roots::between(0.0, high, |x| if x <= 0.0 { -1.0 } else { excess(x) })
}

/// P(|T| > |t|) for Student's T with `freedom` degrees of freedom; precise for tiny probabilities.
pub fn student_both_tails(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    beta::beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// A 95 % point of chi-square with one degree of freedom and the others that profile likelihoods need: the drop of twice
/// the log-likelihood at the ends of an interval of this confidence.
pub(crate) fn likelihood_drop(confidence: f64) -> f64 {
    normal_quantile(0.5 + confidence / 2.0).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, relative: f64) {
        assert!((found / expected - 1.0).abs() < relative, "{found:e} is not {expected:e}");
    }

    /// The factors of research/statistics.md section 3.1: half the quantile of 2k+2 degrees of freedom.
    #[test]
    fn chi_square_quantiles_agree_with_the_run_length_factors() {
        for (k, half) in
            [(0.0, 2.9957), (1.0, 4.7439), (2.0, 6.2958), (3.0, 7.7537), (5.0, 10.513), (10.0, 16.962)]
        {
            close(chi_square_quantile(0.95, 2.0 * k + 2.0) / 2.0, half, 1e-4);
        }
        close(chi_square_quantile(0.99, 4.0) / 2.0, 6.6384, 1e-4);
        // Garwood's limits for two events.
        close(chi_square_quantile(0.025, 4.0) / 2.0, 0.242_209, 1e-5);
        close(chi_square_quantile(0.975, 6.0) / 2.0, 7.224_688, 1e-6);
        close(chi_square_quantile(0.95, 1.0), likelihood_drop(0.95), 1e-9);
    }

    /// Values of scipy 1.17: `2 * stats.t.sf(t, df)`, `stats.chi2.sf`, `stats.norm.cdf`.
    #[test]
    fn tails_agree_with_scipy() {
        close(student_both_tails(2.228_138_852, 10.0), 0.05, 1e-8);
        close(student_both_tails(15.0, 58.0), 1.270_323_632e-21, 1e-8);
        close(chi_square_above(23.209_251, 10.0), 0.01, 1e-6);
        close(normal_below(-1.959_963_985), 0.025, 1e-8);
        close(normal_quantile(0.975), 1.959_963_985, 1e-9);
    }
}
