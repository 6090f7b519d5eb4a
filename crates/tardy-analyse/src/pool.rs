//! Pools several series, such as all CPUs of a phase or all rounds of a wake method.

use serde::Serialize;
use tardy_record::histogram::HistogramError;
use tardy_record::{Histogram, Knowable, Series};

/// Which of a series' histograms its quantiles are quoted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quoted {
    /// The corrected histogram, which counts missed periods as late wake-ups.
    Corrected,
    /// The measured histogram, since there is no schedule or it is unknown.
    Measured,
}

impl Quoted {
    /// The histogram that `series` is quoted from.
    pub fn of(series: &Series) -> Self {
        if series.corrected.is_some() { Self::Corrected } else { Self::Measured }
    }
}

/// Several series added up.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Which histograms were added up: corrected only if every series has one.
    pub quoted: Quoted,
    /// The sum of the quoted histograms.
    pub histogram: Histogram,
    /// Attempts, if all are known.
    pub attempted: Knowable<u64>,
    /// Wake-ups recorded.
    pub recorded: u64,
    /// Deadlines missed, if all are known.
    pub missed: Knowable<u64>,
    /// Readings dropped, if all are known.
    pub dropped: Knowable<u64>,
    /// Lowest value recorded; `None` if a tool did not state that of a series.
    pub min_ns: Option<i64>,
    /// Highest value recorded.
    pub max_ns: Option<i64>,
    /// Whether the highest value is a lower bound.
    pub max_at_least: bool,
    /// Whether the highest readings are missing, so that quantiles are lower bounds.
    pub lacks_its_highest: bool,
    /// The time of the highest value, in ns from the start of the run.
    pub max_at_ns: Option<u64>,
    /// Mean of the quoted values.
    pub mean_ns: Option<f64>,
    /// Standard deviation of the recorded values (√(Σx²/n − mean²)).
    pub deviation_ns: Option<f64>,
}

/// Adds up `series`.
///
/// # Errors
/// If their bins do not fit each other.
pub fn of(series: &[&Series]) -> Result<Pool, HistogramError> {
    let quoted =
        if series.iter().all(|one| one.corrected.is_some()) { Quoted::Corrected } else { Quoted::Measured };
    let mut histogram = Histogram::default();
    for one in series {
        histogram.merge(match &one.corrected {
            Some(corrected) if quoted == Quoted::Corrected => corrected,
            _ => &one.measured,
        })?;
    }
    let highest = series.iter().filter(|one| one.max_ns.is_some()).max_by_key(|one| one.max_ns);
    let recorded = series.iter().fold(0u64, |sum, one| sum.saturating_add(one.tally.recorded));
    Ok(Pool {
        quoted,
        attempted: sum_known(series, |one| one.tally.attempted),
        recorded,
        missed: sum_known(series, |one| one.tally.missed),
        dropped: sum_known(series, |one| one.tally.dropped),
        min_ns: series.iter().filter(|one| one.tally.recorded > 0).map(|one| one.min_ns).min().flatten(),
        max_ns: highest.and_then(|one| one.max_ns),
        max_at_least: series.iter().any(|one| one.max_at_least),
        lacks_its_highest: series.iter().any(|one| one.lacks_its_highest()),
        max_at_ns: highest.and_then(|one| one.max_at_ns),
        mean_ns: mean(series, quoted, histogram.total()),
        deviation_ns: deviation(series, recorded),
        histogram,
    })
}

fn sum_known(series: &[&Series], part: impl Fn(&Series) -> Knowable<u64>) -> Knowable<u64> {
    // If the counts of a malformed file overflow, their sum is unknown.
    series.iter().try_fold(0u64, |sum, one| sum.checked_add(part(one).get()?)).into()
}

fn mean(series: &[&Series], quoted: Quoted, count: u64) -> Option<f64> {
    // For series of other tools, possibly only the mean is known; an empty series has no mean.
    let sum = |one: &&Series| match (one.sum_ns.get(), quoted) {
        (Some(sum), Quoted::Corrected) => Some(sum as f64 + one.missed_sum_ns as f64),
        (Some(sum), Quoted::Measured) => Some(sum as f64),
        (None, _) if one.tally.recorded == 0 => Some(0.0),
        (None, _) => Some(one.mean_ns()? * one.measured.total() as f64),
    };
    let sum: f64 = series.iter().map(sum).sum::<Option<f64>>()?;
    (count > 0).then(|| sum / count as f64)
}

fn deviation(series: &[&Series], recorded: u64) -> Option<f64> {
    if let [one] = series
        && let Some(foreign) = one.foreign().filter(|_| !one.sum_of_squares_ns2.is_known())
    {
        return foreign.stated_deviation_ns;
    }
    let squares: u128 = sum_of(series, |one| one.sum_of_squares_ns2.get())?;
    let sum: i128 = sum_of(series, |one| one.sum_ns.get().map(i128::from))?;
    exact_deviation(u128::from(recorded), sum, squares)
}

fn sum_of<T: std::iter::Sum>(series: &[&Series], part: impl Fn(&Series) -> Option<T>) -> Option<T> {
    series.iter().map(|one| part(one)).sum()
}

/// √(nΣx² − (Σx)²)/n in whole numbers: the difference of two nearly equal means of squares would lose the digits that
/// matter (a deviation of 10 ns at a mean of 1 s). If a product does not fit, in floating point.
fn exact_deviation(n: u128, sum: i128, squares: u128) -> Option<f64> {
    if n == 0 {
        return None;
    }
    let exact = || n.checked_mul(squares)?.checked_sub(sum.unsigned_abs().checked_mul(sum.unsigned_abs())?);
    let rounded = || squares as f64 * n as f64 - (sum as f64).powi(2);
    let variance = exact().map_or_else(rounded, |exact| exact as f64);
    Some(variance.max(0.0).sqrt() / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_deviation_at_a_large_mean_is_exact() {
        // Half of a million values 10 ns below 1 s, half 10 ns above.
        for (half, deviation) in [(10, 10.0), (3, 3.0)] {
            let n = 1_000_000u128;
            let (low, high) = (1_000_000_000 - half, 1_000_000_000 + half);
            let sum = (low + high) as i128 * n as i128 / 2;
            let squares = (low * low + high * high) * n / 2;
            assert_eq!(exact_deviation(n, sum, squares), Some(deviation));
        }
        assert_eq!(exact_deviation(0, 0, 0), None);
        // 10^10 values of up to 10^9 ns still fit; what does not is computed in floating point.
        assert!(exact_deviation(u128::from(u64::MAX), i128::from(i64::MAX), u128::MAX).is_some());
    }
}
