//! The values of the diagnostic plots: observed against fitted quantiles, levels over their times with their band, and the
//! shape over longer blocks or higher thresholds.

use serde::Serialize;
use tardy_statistics::bins::Bin;
use tardy_statistics::extreme::{Fit, Horizon, Reason, fit};

use super::Level;
use super::sample::Excesses;
use super::task::{MOST_EXTRAPOLATION, NS_IN_US, Task, level};
use crate::quantile::CONFIDENCE;

/// So many of the highest values are points of a plot; of the others, so many in all.
const POINTS: u64 = 18;
/// Levels are computed for so many times.
const CURVE_POINTS: u32 = 14;
/// The shape of fewer values is not shown: its interval would be the whole plot.
const LEAST_FOR_SHAPE: u64 = 40;
/// How often blocks are doubled, or excesses halved.
const SHAPES: u32 = 5;

/// The values of the diagnostic plots.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostics {
    /// Fitted and observed values of the same rank, in ns, ascending.
    pub quantiles: Vec<(f64, f64)>,
    /// Observed values and how rarely they were exceeded.
    pub observed: Vec<Observed>,
    /// Levels over their times, with their intervals; empty if levels are not supported.
    pub curve: Vec<Level>,
    /// The shape over longer blocks or higher thresholds, beginning with the fit's own.
    pub shapes: Vec<ShapeOver>,
}

/// An observed value and how rarely it was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Observed {
    /// The mean time between values above it, in ns.
    pub once_per_ns: f64,
    /// The value, in ns.
    pub level_ns: f64,
}

/// The shape of a fit with another length of blocks, or over another threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShapeOver {
    /// The length of a block, or the threshold, in ns.
    pub at_ns: f64,
    /// How many values were fitted.
    pub count: u64,
    /// The shape ξ.
    pub shape: f64,
    /// Lower end of its interval.
    pub lower: Option<f64>,
    /// Upper end.
    pub upper: Option<f64>,
}

type Horizons<'a> = &'a dyn Fn(f64) -> Result<Horizon, Reason>;

/// Those of block maxima, of blocks of `block_ns` that are 2^`doublings` of the blocks of `values`.
pub(super) fn of_maxima(values: &[Bin], block_ns: u64, doublings: u32, fit: &Fit) -> Diagnostics {
    let fitted = (0..doublings).fold(values.to_vec(), |blocks, _| doubled(&blocks));
    let ranked = Ranked::of(&fitted);
    let n = ranked.count as f64;
    let observed = |rank: u64| Observed {
        // Of n + 1 blocks, as many as have a higher rank exceed it.
        once_per_ns: (n + 1.0) / (n - rank as f64) * block_ns as f64,
        level_ns: ranked.value(rank) * NS_IN_US,
    };
    Diagnostics {
        quantiles: ranked.quantiles(fit),
        observed: ranked.drawn().map(observed).collect(),
        curve: Vec::new(),
        shapes: shapes_of_blocks(fitted, block_ns),
    }
}

/// Those of the values over a threshold.
pub(super) fn of_excesses(
    task: &Task<'_>,
    excesses: &Excesses,
    extremal_index: f64,
    fit: &Fit,
) -> Diagnostics {
    let ranked = Ranked::of(&excesses.values);
    let n = ranked.count as f64;
    let clusters_per_value = extremal_index / task.measured_ns as f64;
    let observed = |rank: u64| Observed {
        once_per_ns: 1.0 / ((n - rank as f64) * clusters_per_value),
        level_ns: ranked.value(rank) * NS_IN_US,
    };
    Diagnostics {
        quantiles: ranked.quantiles(fit),
        observed: ranked.drawn().map(observed).collect(),
        curve: Vec::new(),
        shapes: shapes_over_thresholds(&excesses.values),
    }
}

/// Values in the order of their ranks.
struct Ranked {
    bins: Vec<Bin>,
    count: u64,
}

impl Ranked {
    fn of(values: &[Bin]) -> Self {
        let mut bins = values.to_vec();
        bins.sort_by(|a, b| a.low.total_cmp(&b.low));
        Self { count: tardy_statistics::bins::total(&bins), bins }
    }

    /// The value of a rank from 0, in us; those of a bin are spread evenly over it.
    fn value(&self, rank: u64) -> f64 {
        let mut below = 0u64;
        let found = self.bins.iter().find(|bin| {
            below = below.saturating_add(bin.count);
            rank < below
        });
        found.map_or(0.0, |bin| {
            let share = ((rank + bin.count - below) as f64 + 0.5) / bin.count as f64;
            if bin.is_open() { bin.low } else { bin.low + share * (bin.high - bin.low) }
        })
    }

    /// The ranks that are drawn: all of the highest, and evenly many of the others.
    fn drawn(&self) -> impl Iterator<Item = u64> + use<> {
        let others = self.count.saturating_sub(POINTS);
        let step = usize::try_from(others.div_ceil(POINTS).max(1)).unwrap_or(usize::MAX);
        (0..others).step_by(step).chain(others..self.count)
    }

    /// The fitted and the observed value of each drawn rank, in ns.
    fn quantiles(&self, fit: &Fit) -> Vec<(f64, f64)> {
        let share = |rank: u64| (rank as f64 + 0.5) / self.count as f64;
        let point = |rank: u64| (fit.quantile(share(rank)) * NS_IN_US, self.value(rank) * NS_IN_US);
        self.drawn().map(point).collect()
    }
}

impl Diagnostics {
    /// Adds the levels of times from the second value on to the longest that may be stated, evenly on a logarithmic scale.
    pub(super) fn add_curve(&mut self, task: &Task<'_>, fit: &Fit, horizon: Horizons<'_>) {
        let from = self.observed.first().map_or(1.0, |one| 2.0 * one.once_per_ns);
        let to = task.measured_ns as f64 * MOST_EXTRAPOLATION;
        let time = |i: u32| from * libm::pow(to / from, f64::from(i) / f64::from(CURVE_POINTS - 1));
        self.curve = (0..CURVE_POINTS).filter_map(|i| level(task, fit, time(i) as u64, horizon)).collect();
    }
}

fn shapes_of_blocks(fitted: Vec<Bin>, block_ns: u64) -> Vec<ShapeOver> {
    let mut shapes = Vec::new();
    let (mut maxima, mut at_ns) = (fitted, block_ns as f64);
    while maxima.len() as u64 >= LEAST_FOR_SHAPE && shapes.len() < SHAPES as usize {
        shapes.extend(fit::gev(&maxima).ok().map(|fit| shape(&fit, at_ns)));
        (maxima, at_ns) = (doubled(&maxima), 2.0 * at_ns);
    }
    shapes
}

fn shapes_over_thresholds(values: &[Bin]) -> Vec<ShapeOver> {
    let mut shapes: Vec<ShapeOver> = Vec::new();
    let mut wanted = tardy_statistics::bins::total(values);
    while wanted >= LEAST_FOR_SHAPE && shapes.len() < SHAPES as usize {
        let mut over = 0;
        let first = values.iter().rposition(|bin| {
            over += bin.count;
            over >= wanted
        });
        let Some(threshold) = first.map(|first| values[first].low) else { break };
        let fitted = fit::gpd(&values[first.unwrap_or(0)..], threshold).ok();
        shapes.extend(fitted.map(|fit| shape(&fit, threshold * NS_IN_US)));
        wanted /= 2;
    }
    shapes.dedup_by(|a, b| a.at_ns == b.at_ns);
    shapes
}

fn shape(fit: &Fit, at_ns: f64) -> ShapeOver {
    let ends = fit.shape_interval(CONFIDENCE);
    ShapeOver { at_ns, count: fit.count, shape: fit.shape, lower: ends.low, upper: ends.high }
}

/// The maxima of blocks twice as long; a last block without a neighbour is left out.
fn doubled(maxima: &[Bin]) -> Vec<Bin> {
    let higher = |pair: &[Bin]| if pair[1].middle() > pair[0].middle() { pair[1] } else { pair[0] };
    maxima.chunks_exact(2).map(higher).collect()
}
