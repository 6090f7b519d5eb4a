//! The figures that a history follows.

use serde::{Deserialize, Serialize};
use tardy_analyse::late;
use tardy_analyse::outcome::Outcome;
use tardy_record::{Run, Series};
use tardy_statistics::change_points::Scale;

const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_NS: u64 = 60 * SECOND_NS;
/// The median of fewer maxima is not typical.
const LEAST_BLOCKS: usize = 3;

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// The 99.9 % quantile, in ns.
    P999,
    /// The median of the maxima of all minutes and CPUs, in ns. Runs of different lengths have the same median, other than the
    /// same maximum.
    MaximumOfMinutes,
    /// As before, of seconds.
    MaximumOfSeconds,
    /// The share of readings that were later than this limit, in ns.
    LaterThan(u64),
}

impl Figure {
    /// The figures of an outcome of `run`, with their values.
    pub(super) fn of(run: &Run, outcome: &Outcome) -> Vec<(Self, f64)> {
        let series: Vec<&Series> = outcome.series.iter().map(|index| &run.series[*index]).collect();
        let p999 =
            outcome.quantile("p99.9").filter(|value| !value.at_least).map(|value| value.quoted_ns() as f64);
        let mut figures = vec![
            (Self::P999, p999),
            (Self::MaximumOfMinutes, median_maximum(&series, MINUTE_NS)),
            (Self::MaximumOfSeconds, median_maximum(&series, SECOND_NS)),
        ];
        let mut limits: Vec<u64> = run.plan.thresholds_ns.clone();
        limits.sort_unstable();
        limits.dedup();
        figures.extend(limits.into_iter().map(|limit| (Self::LaterThan(limit), share_later(&series, limit))));
        let usable = |(figure, value): (Self, Option<f64>)| {
            value.filter(|value| figure.on_its_scale(*value).is_finite()).map(|value| (figure, value))
        };
        figures.into_iter().filter_map(usable).collect()
    }

    /// The value on the scale on which changes are searched: latencies as logarithms.
    pub(super) fn on_its_scale(self, value: f64) -> f64 {
        match self.scale() {
            Scale::Logarithmic => libm::log(value),
            Scale::Linear => value,
        }
    }

    /// The mean of values on that scale, as a value.
    pub(super) fn mean(self, scaled: &[f64]) -> f64 {
        let mean = scaled.iter().sum::<f64>() / scaled.len() as f64;
        match self.scale() {
            Scale::Logarithmic => libm::exp(mean),
            Scale::Linear => mean,
        }
    }

    pub(super) fn scale(self) -> Scale {
        match self {
            Self::LaterThan(_) => Scale::Linear,
            _ => Scale::Logarithmic,
        }
    }
}

/// The median of the maxima of whole blocks of `block_ns` of all series. `None` if a series has only longer blocks, or there
/// are too few.
fn median_maximum(series: &[&Series], block_ns: u64) -> Option<f64> {
    let mut maxima: Vec<i64> = Vec::new();
    for one in series {
        maxima.extend(maxima_of_blocks(one, block_ns)?);
    }
    if maxima.len() < LEAST_BLOCKS {
        return None;
    }
    maxima.sort_unstable();
    let (low, high) = (maxima[(maxima.len() - 1) / 2], maxima[maxima.len() / 2]);
    Some(f64::midpoint(low as f64, high as f64))
}

/// The maxima of a series, merged into whole blocks of `block_ns`. `None` if its blocks do not divide that.
fn maxima_of_blocks(series: &Series, block_ns: u64) -> Option<Vec<i64>> {
    let kept = &series.block_maxima;
    let merged = usize::try_from(block_ns.checked_div(kept.block_ns)?).ok()?;
    if merged == 0 || !block_ns.is_multiple_of(kept.block_ns) {
        return None;
    }
    let whole = kept.maxima_ns.chunks_exact(merged);
    Some(whole.filter_map(|block| block.iter().flatten().max().copied()).collect())
}

/// The share of readings later than `limit_ns`; a reading in the bin across the limit counts as half a late one.
fn share_later(series: &[&Series], limit_ns: u64) -> Option<f64> {
    let (mut late, mut readings) = (0.0, 0.0);
    for one in series {
        let found = late::beyond(one, limit_ns);
        late += f64::midpoint(found.at_least as f64, found.at_most as f64);
        readings += found.of as f64;
    }
    (readings > 0.0).then(|| late / readings)
}
