//! The shift function: by how much each quantile of the candidate differs from that of the base.

use serde::Serialize;
use tardy_analyse::pool::Pool;
use tardy_analyse::quantile::{CONFIDENCE, Level};
use tardy_statistics::bins::Bin;
use tardy_statistics::shape;

use super::readings::{Readings, quantile_ns};
use super::statistic::{Effect, Quantity, Statistic};
use crate::shape::bins;

/// The levels of the shift function, from the median on to where differences between kernels are.
const LEVELS: [Level; 11] = [
    level("p10", 10, 100),
    level("p25", 25, 100),
    level("p50", 50, 100),
    level("p75", 75, 100),
    level("p90", 90, 100),
    level("p95", 95, 100),
    level("p99", 99, 100),
    level("p99.5", 995, 1000),
    level("p99.9", 999, 1000),
    level("p99.95", 9995, 10_000),
    level("p99.99", 9999, 10_000),
];
/// Fewer slices do not show how much a run varies.
const SLICES_MIN: usize = 10;
/// The seed of drawn slices, so that the same runs give the same band.
const SEED: u64 = 1;

const fn level(name: &'static str, numerator: u64, denominator: u64) -> Level {
    Level { name, numerator, denominator }
}

/// What the band of a shift function describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Band {
    /// The scatter between observations: at each level the 95 % interval that the rank test does not reject.
    Observations,
    /// The scatter within one run each, from slices drawn again: it says nothing about another boot.
    Slices,
    /// There is no band: too few observations, or too few slices.
    None,
}

/// The shift function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShiftFunction {
    /// What its band describes.
    pub band: Band,
    /// The levels with enough readings in every observation, ascending.
    pub levels: Vec<ShiftAtLevel>,
}

/// The shift function at one level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShiftAtLevel {
    /// The name of the level, such as `p99.9`.
    pub name: &'static str,
    /// The share of readings at or below the quantile.
    pub share: f64,
    /// The quantile of the base, in ns: the median over its observations.
    pub base_ns: f64,
    /// The quantile of the candidate, in ns.
    pub candidate_ns: f64,
    /// Candidate minus base in ns, with the band at this level.
    pub difference: Effect,
}

/// The shift function of the observations of both groups, `pools` are the readings of each.
pub(super) fn of(groups: [&[Readings<'_>]; 2], pools: [&[Pool]; 2]) -> ShiftFunction {
    let mut levels: Vec<(Level, ShiftAtLevel)> =
        LEVELS.into_iter().filter_map(|level| Some((level, at_level(pools, level)?))).collect();
    let mut band = match levels.iter().all(|(_, at)| at.difference.low.is_some()) {
        true if !levels.is_empty() => Band::Observations,
        _ => Band::None,
    };
    if let [[base], [candidate]] = groups {
        let slices = [slices(base), slices(candidate)];
        if slices.iter().all(|slices| slices.len() >= SLICES_MIN) && add_band(&mut levels, &slices).is_some()
        {
            band = Band::Slices;
        }
    }
    ShiftFunction { band, levels: levels.into_iter().map(|(_, at)| at).collect() }
}

fn at_level(pools: [&[Pool]; 2], level: Level) -> Option<ShiftAtLevel> {
    let values = pools.map(|pools| pools.iter().map(|pool| quantile_ns(pool, level)).collect());
    let statistic = Statistic::of(level.name, Quantity::Ns, values);
    Some(ShiftAtLevel {
        name: level.name,
        share: level.share(),
        base_ns: statistic.base_median?,
        candidate_ns: statistic.candidate_median?,
        difference: statistic.difference?,
    })
}

/// The slices of one run, all CPUs together: slices of the same index are from about the same time.
fn slices(readings: &Readings<'_>) -> Vec<Vec<Bin>> {
    let count = readings.series.iter().map(|series| series.slices.len()).max().unwrap_or(0);
    let mut slices = vec![Vec::new(); count];
    for series in &readings.series {
        for (index, slice) in series.slices.iter().enumerate() {
            slices[index].extend(bins(&slice.histogram));
        }
    }
    slices.retain(|slice: &Vec<Bin>| !slice.is_empty());
    slices
}

/// Adds the band of slices that are drawn again; `None` if the slices have no distance.
fn add_band(levels: &mut [(Level, ShiftAtLevel)], [base, candidate]: &[Vec<Vec<Bin>>; 2]) -> Option<()> {
    let shares: Vec<f64> = levels.iter().map(|(level, _)| level.share()).collect();
    let bands = shape::shift_bands(base, candidate, &shares, CONFIDENCE, SEED).ok()?;
    for ((_, at), (low, high)) in levels.iter_mut().zip(bands) {
        // The bins of slices are wider than those of the run, whose estimate is the better one.
        (at.difference.low, at.difference.high) =
            (Some(low.min(at.difference.estimate)), Some(high.max(at.difference.estimate)));
    }
    Some(())
}

impl ShiftFunction {
    /// Removes the band, which means nothing if the groups are not comparable.
    pub(super) fn without_band(&mut self) {
        self.band = Band::None;
        for at in &mut self.levels {
            (at.difference.low, at.difference.high) = (None, None);
        }
    }
}
