//! Checks of the order of block maxima: independence, stationarity, and prediction of later blocks from earlier ones.

use statrs::function::beta::ln_beta;
use statrs::function::gamma::ln_gamma;

use super::{Check, Kind};
use crate::binomial;
use crate::bins::Bin;
use crate::extreme::fit;
use crate::extreme::order::{self, KPSS_1_PERCENT};

/// The number of autocorrelations that Ljung and Box's test sums.
const LAGS: usize = 10;
const LEAST_ORDER_P: f64 = 0.005;
const LEAST_HOLD_OUT_P: f64 = 0.01;
/// The confidence of each half's quantile: two intervals at 95 % that do not overlap are a difference at about 0.6 %.
const CONFIDENCE_OF_HALVES: f64 = 0.95;
/// The share of blocks that exceed the predicted level.
const PREDICTED_SHARE: f64 = 0.1;

const LONGER_BLOCKS: &str =
    "measure for longer: blocks can then be longer; or find what makes late values come together";
const STEADY: &str = "find what changed, and measure again without that change";
const NO_ORDER: &str = "a histogram does not have the order of its values";
const USE_MAXIMA: &str = "use block maxima, which have it";

/// The maxima of blocks twice as long; a last block without a neighbour is left out.
pub(super) fn doubled(maxima: &[Bin]) -> Vec<Bin> {
    maxima
        .chunks_exact(2)
        .map(|pair| if pair[1].middle() > pair[0].middle() { pair[1] } else { pair[0] })
        .collect()
}

/// The maxima of the shortest blocks that are independent, and how often blocks were doubled for that. At least `least` blocks
/// remain; if none of these are independent, the blocks stay as they were given.
pub(super) fn lengthened(in_order: &[Bin], least: usize) -> (Vec<Bin>, u32) {
    let mut maxima = in_order.to_vec();
    for doublings in 0.. {
        let middles: Vec<f64> = maxima.iter().map(Bin::middle).collect();
        let is_independent = [order::ljung_box(&order::normal_scores(&middles), LAGS), order::runs(&middles)]
            .iter()
            .flatten()
            .all(|tested| tested.p >= LEAST_ORDER_P);
        if is_independent {
            return (maxima, doublings);
        }
        if maxima.len() / 2 < least {
            break;
        }
        maxima = doubled(&maxima);
    }
    (in_order.to_vec(), 0)
}

pub(super) fn autocorrelation(scores: &[f64]) -> Check {
    match order::ljung_box(scores, LAGS) {
        Some(tested) => Check::computed(
            Kind::Autocorrelation,
            tested.p < LEAST_ORDER_P,
            tested.p,
            LEAST_ORDER_P,
            format!(
                "Ljung and Box's statistic of the first {LAGS} autocorrelations is {:.1}, p = {:.4}",
                tested.statistic, tested.p
            ),
            LONGER_BLOCKS,
        ),
        None => Check::not_computed(
            Kind::Autocorrelation,
            LEAST_ORDER_P,
            "there are too few blocks",
            LONGER_BLOCKS,
        ),
    }
}

pub(super) fn runs(middles: &[f64]) -> Check {
    match order::runs(middles) {
        Some(tested) => Check::computed(
            Kind::Runs,
            tested.p < LEAST_ORDER_P,
            tested.p,
            LEAST_ORDER_P,
            format!(
                "the number of runs above and below the median is {:.1} standard deviations from that of independent maxima, p = {:.4}",
                tested.statistic, tested.p
            ),
            LONGER_BLOCKS,
        ),
        None => Check::not_computed(
            Kind::Runs,
            LEAST_ORDER_P,
            "too few maxima differ from the median",
            LONGER_BLOCKS,
        ),
    }
}

pub(super) fn constant_level(scores: &[f64]) -> Check {
    match order::kpss(scores) {
        Some(found) => Check::computed(
            Kind::ConstantLevel,
            found > KPSS_1_PERCENT,
            found,
            KPSS_1_PERCENT,
            format!(
                "the KPSS statistic of a constant level is {found:.3}; above {KPSS_1_PERCENT} it is not constant"
            ),
            STEADY,
        ),
        None => Check::not_computed(Kind::ConstantLevel, KPSS_1_PERCENT, "there are too few blocks", STEADY),
    }
}

/// Compares the median and the 90 % quantile of both halves. Found is the number of quantiles whose intervals do not
/// overlap.
pub(super) fn halves(middles: &[f64]) -> Check {
    let (first, second) = middles.split_at(middles.len() / 2);
    let differing: Vec<&str> = [(0.5, "median"), (0.9, "90 % quantile")]
        .into_iter()
        .filter(|(level, _)| match (quantile_interval(first, *level), quantile_interval(second, *level)) {
            (Some(a), Some(b)) => a.1 < b.0 || b.1 < a.0,
            _ => false,
        })
        .map(|(_, name)| name)
        .collect();
    let statement = if differing.is_empty() {
        "the first and the second half have the same quantiles".to_owned()
    } else {
        format!("the first and the second half differ in the {}", differing.join(" and the "))
    };
    Check::computed(Kind::Halves, !differing.is_empty(), differing.len() as f64, 0.0, statement, STEADY)
}

/// The interval of a quantile by order statistics; `None` if an end is beyond the values.
fn quantile_interval(values: &[f64], level: f64) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as u64;
    let tail = 0.5 * (1.0 - CONFIDENCE_OF_HALVES);
    let (low, high) = (binomial::quantile(tail, n, level), binomial::quantile(1.0 - tail, n, level) + 1);
    if low == 0 || high > n {
        return None;
    }
    Some((sorted[low as usize - 1], sorted[high as usize - 1]))
}

/// Fits the first two thirds, and counts the last third's exceedances of the level that a tenth should exceed. The count's
/// distribution is beta-binomial: the fitted share is itself uncertain.
pub(super) fn hold_out(maxima: &[Bin]) -> Check {
    const HELP: &str = STEADY;
    let known = maxima.len() * 2 / 3;
    let Ok(fit) = fit::gev(&maxima[..known]) else {
        return Check::not_computed(
            Kind::HoldOut,
            LEAST_HOLD_OUT_P,
            "the first two thirds cannot be fitted",
            HELP,
        );
    };
    // The end of the bin that the level is in, so that every value is clearly below or above.
    let later = &maxima[known..];
    let level = fit.quantile(1.0 - PREDICTED_SHARE);
    let level = maxima
        .iter()
        .find(|bin| bin.low < level && level < bin.high && !bin.is_open())
        .map_or(level, |bin| bin.high);
    let share = fit.above(level);
    let exceeding = later.iter().filter(|bin| bin.middle() > level).count();
    let p = beta_binomial_at_least(exceeding, later.len(), known as f64, share);
    Check::computed(
        Kind::HoldOut,
        p < LEAST_HOLD_OUT_P,
        p,
        LEAST_HOLD_OUT_P,
        format!(
            "the first two thirds predict that {:.0} of the last {} blocks exceed {level:.1}; {exceeding} did, p = {p:.4}",
            share * later.len() as f64,
            later.len()
        ),
        HELP,
    )
}

/// P(X ≥ k) of n trials whose probability has the beta distribution of mean `share` that `weight` earlier trials give.
fn beta_binomial_at_least(k: usize, n: usize, weight: f64, share: f64) -> f64 {
    let (a, b) = (weight * share, weight * (1.0 - share));
    let n_trials = n as f64;
    let probability = |x: f64| {
        let ways = ln_gamma(n_trials + 1.0) - ln_gamma(x + 1.0) - ln_gamma(n_trials - x + 1.0);
        libm::exp(ways + ln_beta(a + x, b + n_trials - x) - ln_beta(a, b))
    };
    (k..=n).map(|x| probability(x as f64)).sum::<f64>().min(1.0)
}

/// The checks of the order, for values whose order is not known.
pub(super) fn not_computed() -> Vec<Check> {
    [
        (Kind::Autocorrelation, LEAST_ORDER_P),
        (Kind::Runs, LEAST_ORDER_P),
        (Kind::ConstantLevel, KPSS_1_PERCENT),
        (Kind::Halves, 0.0),
        (Kind::HoldOut, LEAST_HOLD_OUT_P),
    ]
    .into_iter()
    .map(|(kind, limit)| Check::not_computed(kind, limit, NO_ORDER, USE_MAXIMA))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.16: `stats.betabinom.sf(k - 1, n, a, b)`.
    #[test]
    fn the_beta_binomial_tail_agrees_with_scipy() {
        for (k, n, weight, expected) in [
            (8, 40, 80.0, 0.077_790_717_857_576_63),
            (12, 40, 80.0, 0.004_099_164_043_569_914),
            (200, 1365, 2731.0, 8.269_851_120_901_173e-6),
        ] {
            let found = beta_binomial_at_least(k, n, weight, 0.1);
            assert!((found / expected - 1.0).abs() < 1e-6, "{found}");
        }
    }

    #[test]
    fn joined_blocks_have_the_higher_maximum() {
        let bins: Vec<Bin> = [3.0, 1.0, 2.0, 5.0, 9.0].map(Bin::exact).to_vec();
        assert_eq!(doubled(&bins), [Bin::exact(3.0), Bin::exact(5.0)]);
    }

    #[test]
    fn dependent_blocks_are_made_longer() {
        use crate::extreme::likelihood::Family;
        use crate::extreme::test_data::simulate;
        use crate::random::Random;
        // Every value is that of two neighbouring blocks, so blocks of two are independent.
        let values = simulate(Family::Gev, (10.0, 1.0, 0.0), 200, &mut Random::new(9));
        let twice: Vec<Bin> = values.iter().flat_map(|value| [Bin::exact(*value); 2]).collect();
        assert_eq!(lengthened(&twice, 100).1, 1);
        assert_eq!(lengthened(&values.iter().map(|value| Bin::exact(*value)).collect::<Vec<_>>(), 100).1, 0);
    }
}
