//! Quantiles of histograms, with the edges of their bins and confidence intervals.

use serde::Serialize;
use tardy_record::Histogram;

use tardy_statistics::binomial;

/// Confidence of every interval and bound that is quoted.
pub const CONFIDENCE: f64 = 0.95;

/// The level of a quantile, as a fraction of whole numbers, so that ranks are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Level {
    /// Its name, such as `p99.9`.
    pub name: &'static str,
    /// Numerator of the share of values at or below it.
    pub numerator: u64,
    /// Denominator of that share.
    pub denominator: u64,
}

/// The quantiles that every table shows.
pub const LEVELS: [Level; 4] = [
    Level { name: "p50", numerator: 1, denominator: 2 },
    Level { name: "p99", numerator: 99, denominator: 100 },
    Level { name: "p99.9", numerator: 999, denominator: 1000 },
    Level { name: "p99.99", numerator: 9999, denominator: 10_000 },
];

/// The quantiles of a plot: the median, and one for each further decade of the share above it.
pub const DECADES: [Level; 8] = [
    LEVELS[0],
    Level { name: "p90", numerator: 9, denominator: 10 },
    LEVELS[1],
    LEVELS[2],
    LEVELS[3],
    Level { name: "p99.999", numerator: 99_999, denominator: 100_000 },
    Level { name: "p99.9999", numerator: 999_999, denominator: 1_000_000 },
    Level { name: "p99.99999", numerator: 9_999_999, denominator: 10_000_000 },
];

impl Level {
    /// The share of values at or below it.
    pub fn share(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The rank of the value among `n` in ascending order, from 1: ⌈qn⌉.
    pub fn rank(self, n: u64) -> u64 {
        (u128::from(n) * u128::from(self.numerator)).div_ceil(u128::from(self.denominator)) as u64
    }

    /// The least number of values for which at least one is beyond the quantile.
    pub fn least_count(self) -> u64 {
        self.denominator.div_ceil(self.denominator - self.numerator)
    }
}

/// A quantile of a histogram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quantile {
    /// The name of its level.
    pub level: &'static str,
    /// Its value; `None` if there are so few values that it would be the maximum.
    pub value: Option<Value>,
    /// The number of values that it needs.
    pub least_count: u64,
}

impl Quantile {
    /// The same quantile as a lower bound: the readings that are missing are all higher.
    pub fn as_lower_bound(self) -> Self {
        let value = self.value.map(|value| Value { at_least: true, confidence_upper_ns: None, ..value });
        Self { value, ..self }
    }
}

/// The value of a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Value {
    /// Lower edge of the bin that holds it, in ns.
    pub lower_ns: i64,
    /// First value beyond that bin; for a bin without an end the first beyond the maximum, if that is known.
    pub upper_ns: i64,
    /// Whether that bin has no upper end, as the last bin of a histogram whose range the values exceed: the quantile is
    /// then at least `lower_ns`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Lower end of its 95 % confidence interval by order statistics: the lower edge of the bin of rank
    /// BinomInv(0.025; n, q), with ranks and number divided by the inflation of dependent values.
    pub confidence_lower_ns: Option<i64>,
    /// Upper end: upper edge of the bin of rank BinomInv(0.975; n, q) + 1; `None` (not determined) if that rank is beyond the
    /// last value, or is in a bin without an end and the maximum is unknown.
    pub confidence_upper_ns: Option<i64>,
}

impl Value {
    /// The number to print, in ns: the highest value of the bin, so that the quantile is never too low. A bin of
    /// tardy's histograms is less than 0.8 % wide. For a bin without an upper end it is a lower bound, and must be
    /// printed as such ([`Value::at_least`]).
    pub fn quoted_ns(&self) -> i64 {
        if self.at_least { self.lower_ns } else { self.upper_ns - 1 }
    }
}

/// The quantile of `histogram` at `level`.
///
/// `highest_ns` is the exact maximum if it is known: no quantile is quoted above it. `inflation` is the factor by which
/// dependence inflates the variance of the count of values above a given one ([`crate::dependence`]); 1 for independent
/// values.
pub fn of(
    histogram: &Histogram,
    level: Level,
    highest_ns: Option<i64>,
    inflation: impl Fn(i64) -> f64,
) -> Quantile {
    crate::stop::check();
    let n = histogram.total();
    let absent = Quantile { level: level.name, value: None, least_count: level.least_count() };
    if n < level.least_count() || histogram.has_no_distribution() {
        return absent;
    }
    let Some((lower_ns, upper_ns)) = edges_of_rank(histogram, level.rank(n)) else { return absent };
    let (lower_rank, upper_rank) = ranks(n, level, inflation(upper_ns - 1));
    let cap = |upper: i64| highest_ns.map_or(upper, |highest| upper.min(highest.saturating_add(1)));
    let value = Value {
        lower_ns,
        upper_ns: cap(upper_ns),
        at_least: upper_ns == i64::MAX,
        confidence_lower_ns: edges_of_rank(histogram, lower_rank).map(|(lower, _)| lower),
        confidence_upper_ns: edges_of_rank(histogram, upper_rank)
            .map(|(_, upper)| cap(upper))
            .filter(|upper| *upper != i64::MAX),
    };
    Quantile { value: Some(value), ..absent }
}

/// The ranks of the confidence interval of a quantile of `n` values; the lower is 0, or the upper above `n`, if that end is not determined.
fn ranks(n: u64, level: Level, inflation: f64) -> (u64, u64) {
    let independent = (n as f64 / inflation.max(1.0)).floor() as u64;
    let lower = binomial::quantile((1.0 - CONFIDENCE) / 2.0, independent, level.share());
    let upper = binomial::quantile((1.0 + CONFIDENCE) / 2.0, independent, level.share()) + 1;
    if independent == n {
        return (lower, upper);
    }
    let scale = n as f64 / independent.max(1) as f64;
    let beyond = upper > independent;
    ((lower as f64 * scale).floor() as u64, if beyond { n + 1 } else { (upper as f64 * scale).ceil() as u64 })
}

/// The edges of the bin that holds the value of `rank`, from 1.
pub fn edges_of_rank(histogram: &Histogram, rank: u64) -> Option<(i64, i64)> {
    if rank == 0 {
        return None;
    }
    let mut below = 0;
    histogram.bins().iter().find_map(|bin| {
        below += bin.count;
        (below >= rank).then_some((bin.lower_ns, bin.upper_ns))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ones(values: &[i64]) -> Histogram {
        let mut bins = std::collections::BTreeMap::new();
        for value in values {
            *bins.entry(*value).or_insert(0u64) += 1;
        }
        Histogram::from_bins(
            bins.into_iter().map(|(value, count)| (value, value + 1, count).into()).collect(),
        )
        .unwrap()
    }

    #[test]
    fn a_quantile_of_too_few_values_is_not_determined() {
        let values: Vec<i64> = (0..9_999).collect();
        assert_eq!(of(&ones(&values), LEVELS[3], None, |_| 1.0).value, None);
        assert_eq!(of(&ones(&values), LEVELS[3], None, |_| 1.0).least_count, 10_000);
        let values: Vec<i64> = (1..=10_000).collect();
        let value = of(&ones(&values), LEVELS[3], Some(10_000), |_| 1.0).value.unwrap();
        assert_eq!((value.lower_ns, value.quoted_ns()), (9_999, 9_999));
        assert_eq!(value.confidence_upper_ns, None, "rank 10003 of 10000: not determined");
    }

    #[test]
    fn the_confidence_interval_has_the_reference_ranks() {
        let values: Vec<i64> = (1..=1000).collect();
        let value = of(&ones(&values), LEVELS[1], None, |_| 1.0).value.unwrap();
        assert_eq!((value.confidence_lower_ns, value.confidence_upper_ns), (Some(983), Some(998)));
    }

    #[test]
    fn a_quantile_beyond_the_histogram_is_at_least_its_end() {
        let histogram =
            Histogram::from_bins(vec![(0, 1_000, 900).into(), (400_000, i64::MAX, 100).into()]).unwrap();
        for (highest_ns, upper_ns) in [(Some(12_000_000), 12_000_001), (None, i64::MAX)] {
            let value = of(&histogram, LEVELS[1], highest_ns, |_| 1.0).value.unwrap();
            assert_eq!((value.quoted_ns(), value.at_least, value.upper_ns), (400_000, true, upper_ns));
            assert_eq!(value.confidence_upper_ns, highest_ns.map(|_| upper_ns));
        }
        let median = of(&histogram, LEVELS[0], None, |_| 1.0).value.unwrap();
        assert_eq!((median.quoted_ns(), median.at_least), (999, false));
    }

    proptest! {
        #[test]
        fn a_quantile_is_the_value_of_its_rank(mut values in prop::collection::vec(-1000i64..100_000, 100..400)) {
            let histogram = ones(&values);
            values.sort_unstable();
            for level in &LEVELS[..2] {
                let value = of(&histogram, *level, None, |_| 1.0).value.unwrap();
                prop_assert_eq!(value.lower_ns, values[level.rank(values.len() as u64) as usize - 1]);
            }
        }
    }
}
