//! Tests of the order of values: are they independent, and of one distribution throughout?
//!
//! A maximum of a block that predicts the next, or a trend, makes the number of independent blocks smaller than it looks, and
//! levels and intervals wrong.

use crate::distributions::{chi_square_above, normal_below, normal_quantile};
use crate::median;

/// The statistic of a test and its p-value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tested {
    /// The test's statistic.
    pub statistic: f64,
    /// The probability of such a statistic or a more extreme one if the hypothesis is true.
    pub p: f64,
}

/// Ljung and Box's test of the autocorrelations up to `lags` (Biometrika 65, 1978): Q = n(n+2) Σ r²_k/(n−k), which is χ² with
/// `lags` degrees of freedom if values are independent. `None` for fewer than `lags` + 2 values or equal ones.
pub fn ljung_box(values: &[f64], lags: usize) -> Option<Tested> {
    let n = values.len();
    let variance = sum_of_squares(values)?;
    if n < lags + 2 || lags == 0 {
        return None;
    }
    let mean = mean(values);
    let mut sum = 0.0;
    for lag in 1..=lags {
        let product: f64 = values.iter().zip(&values[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum();
        sum += (product / variance).powi(2) / (n - lag) as f64;
    }
    let statistic = n as f64 * (n as f64 + 2.0) * sum;
    Some(Tested { statistic, p: chi_square_above(statistic, lags as f64) })
}

/// Wald and Wolfowitz's test of the number of runs above and below the median, two-sided, without a continuity correction.
/// Values that equal the median count as above. `None` if there are fewer than ten on one side.
pub fn runs(values: &[f64]) -> Option<Tested> {
    let median = median::of(values)?;
    let above: Vec<bool> = values.iter().map(|value| *value >= median).collect();
    let n_above = above.iter().filter(|above| **above).count() as f64;
    let n_below = above.len() as f64 - n_above;
    if n_above < 10.0 || n_below < 10.0 {
        return None;
    }
    let runs = 1.0 + above.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
    let n = n_above + n_below;
    let product = 2.0 * n_above * n_below;
    let expected = 1.0 + product / n;
    let variance = product * (product - n) / (n * n * (n - 1.0));
    let statistic = (runs - expected) / variance.sqrt();
    Some(Tested { statistic, p: 2.0 * normal_below(-statistic.abs()) })
}

/// The statistic of Kwiatkowski, Phillips, Schmidt and Shin for a constant level (Journal of Econometrics 54, 1992), with
/// Bartlett's weights over ⌊4 (n/100)^¼⌋ lags. Above 0.463 the level is not constant at 5 %, above 0.739 at 1 %.
/// `None` for fewer than ten values or equal ones.
pub fn kpss(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    if values.len() < 10 {
        return None;
    }
    let mut variance = sum_of_squares(values)?;
    let mean = mean(values);
    let lags = (4.0 * libm::pow(n / 100.0, 0.25)) as usize;
    for lag in 1..=lags {
        let product: f64 = values.iter().zip(&values[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum();
        variance += 2.0 * (1.0 - lag as f64 / (lags as f64 + 1.0)) * product;
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    for value in values {
        sum += value - mean;
        squares += sum * sum;
    }
    (variance > 0.0).then(|| squares / (n * variance))
}

/// The critical value of [`kpss`] at 1 %.
pub const KPSS_1_PERCENT: f64 = 0.739;

/// Each value replaced by the normal quantile of its rank, equal ones by that of their mean rank. Tests of these do not depend
/// on the distribution of the values, so a heavy tail does not make them reject.
pub fn normal_scores(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut scores = vec![0.0; values.len()];
    let mut first = 0;
    for same in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let mean_rank = first as f64 + 0.5 * (same.len() as f64 + 1.0);
        let score = normal_quantile(mean_rank / (values.len() as f64 + 1.0));
        for &i in same {
            scores[i] = score;
        }
        first += same.len();
    }
    scores
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of squared differences from the mean; `None` if it is 0.
fn sum_of_squares(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let sum: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (sum > 0.0 && sum.is_finite()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::super::test_data::{close, portpirie};
    use super::*;

    fn values() -> Vec<f64> {
        portpirie().iter().map(|bin| bin.low).collect()
    }

    /// The reference table of research/statistics.md section 4, from statsmodels.
    #[test]
    fn port_pirie_agrees_with_the_reference_values() {
        let ten = ljung_box(&values(), 10).unwrap();
        close(ten.statistic, 5.8298, 1e-5);
        close(ten.p, 0.8294, 1e-4);
        let twenty = ljung_box(&values(), 20).unwrap();
        close(twenty.statistic, 16.5965, 1e-5);
        close(twenty.p, 0.6790, 1e-4);
        close(kpss(&values()).unwrap(), 0.057_75, 1e-4);
        let runs = runs(&values()).unwrap();
        close(runs.statistic, -1.1235, 1e-4);
        close(runs.p, 0.2612, 1e-3);
    }

    #[test]
    fn a_trend_is_found_by_each_test() {
        let trend: Vec<f64> = values().iter().enumerate().map(|(i, value)| value + 0.02 * i as f64).collect();
        assert!(ljung_box(&trend, 10).unwrap().p < 0.01);
        assert!(runs(&trend).unwrap().p < 0.01);
        assert!(kpss(&trend).unwrap() > KPSS_1_PERCENT);
    }

    #[test]
    fn too_few_or_equal_values_have_no_result() {
        assert_eq!(ljung_box(&[1.0; 100], 10), None);
        assert_eq!(ljung_box(&values()[..11], 10), None);
        assert_eq!(runs(&[1.0, 2.0, 3.0]), None);
        assert_eq!(kpss(&[2.0; 100]), None);
    }

    #[test]
    fn scores_depend_on_the_order_of_values_only() {
        let scores = normal_scores(&[5.0, 1e9, 5.0, -3.0]);
        assert_eq!(scores[0], scores[2]);
        assert!(scores[3] < scores[0] && scores[0] < scores[1]);
        assert!((scores[1] + scores[3]).abs() < 1e-12);
    }
}
