//! A sample of extreme values, prepared for fitting: sorted, shifted and scaled to the order of 1.

use std::fmt;

use crate::bins::Bin;

/// Why the data do not support a fit or a level.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// A bin's ends are not in order, or not finite.
    InvalidBin(Bin),
    /// A bin contains the threshold; a threshold must be the lower end of a bin.
    ThresholdInsideBin(Bin),
    /// There are fewer values than parameters.
    TooFewValues {
        /// How many there are.
        count: u64,
        /// The least that a fit needs; far more are needed for a useful one.
        needed: u64,
    },
    /// All values are in the same bin, so their spread is unknown.
    OneBin,
    /// No start of the search reached a maximum of the likelihood.
    NoMaximum,
    /// The horizon is not longer than one block, or shorter than the mean distance of two exceedances of the threshold.
    HorizonTooShort,
    /// A horizon in blocks was used with a fit over a threshold, or the reverse.
    HorizonOfOtherModel,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidBin(bin) => write!(f, "a bin from {} to {} is not valid", bin.low, bin.high),
            Self::ThresholdInsideBin(bin) => write!(
                f,
                "the threshold is inside the bin from {} to {}; use one of its ends",
                bin.low, bin.high
            ),
            Self::TooFewValues { count, needed } => {
                write!(
                    f,
                    "{count} values are too few for a fit, which needs at least {needed}; measure for longer"
                )
            }
            Self::OneBin => write!(f, "all values are in the same bin; record with a finer resolution"),
            Self::NoMaximum => write!(
                f,
                "the likelihood has no maximum; the values are not those of one extreme value distribution"
            ),
            Self::HorizonTooShort => write!(f, "the horizon is not longer than one block or one exceedance"),
            Self::HorizonOfOtherModel => write!(
                f,
                "the horizon is of the other model: blocks belong to block maxima, observations to a threshold"
            ),
        }
    }
}

impl std::error::Error for Reason {}

/// A bin relative to [`Sample::shift`] and [`Sample::scale`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) weight: f64,
    /// The value is known exactly, or in so narrow a bin that the density describes it: `low` and `high` are the value.
    pub(crate) is_exact: bool,
}

/// Values in order, each relative to a shift and a scale, with those that occur repeatedly counted together.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) cells: Vec<Cell>,
    pub(crate) shift: f64,
    pub(crate) scale: f64,
    pub(crate) count: u64,
    /// What the logarithms of the units add to a negative log-likelihood.
    pub(crate) unit_term: f64,
}

/// A bin is narrow if it is below this share of the sample's spread. The density then differs from the bin's probability by a
/// share of 10^-7, and needs half the time.
const NARROW: f64 = 1e-3;

impl Sample {
    /// Block maxima.
    pub(crate) fn of_maxima(bins: &[Bin]) -> Result<Self, Reason> {
        let sorted = sorted(bins)?;
        let middle = weighted_quantile(&sorted, 0.5);
        Self::new(&sorted, middle, 3)
    }

    /// Values over a threshold; lower ones are left out.
    pub(crate) fn of_excesses(bins: &[Bin], threshold: f64) -> Result<Self, Reason> {
        let mut above = sorted(bins)?;
        above.retain(|bin| bin.low >= threshold || bin.high > threshold);
        if let Some(bin) = above.iter().find(|bin| bin.low < threshold) {
            return Err(Reason::ThresholdInsideBin(*bin));
        }
        // The fit is of values over the threshold; one that equals it is not over it.
        above.retain(|bin| bin.high > threshold);
        Self::new(&above, threshold, 2)
    }

    fn new(sorted: &[Bin], shift: f64, needed: u64) -> Result<Self, Reason> {
        let count = crate::bins::total(sorted);
        if count < needed {
            return Err(Reason::TooFewValues { count, needed });
        }
        let spread = spread(sorted, shift);
        let is_one =
            sorted.first().map(|bin| (bin.low, bin.high)) == sorted.last().map(|bin| (bin.low, bin.high));
        if is_one || spread <= 0.0 {
            return Err(Reason::OneBin);
        }
        let mut cells: Vec<Cell> = Vec::with_capacity(sorted.len());
        let mut unit_term = 0.0;
        for bin in sorted {
            let width = bin.high - bin.low;
            let is_exact = width < NARROW * spread;
            let (low, high) = if is_exact { (bin.middle(), bin.middle()) } else { (bin.low, bin.high) };
            let weight = bin.count as f64;
            if is_exact {
                unit_term += weight * if width > 0.0 { libm::log(spread / width) } else { libm::log(spread) };
            }
            let cell = Cell { low: (low - shift) / spread, high: (high - shift) / spread, weight, is_exact };
            match cells.last_mut() {
                Some(last) if last.low == cell.low && last.high == cell.high => last.weight += weight,
                _ => cells.push(cell),
            }
        }
        Ok(Self { cells, shift, scale: spread, count, unit_term })
    }

    /// The same values in bins of this width, in the sample's scale; values that are in wider bins already stay there.
    pub(crate) fn in_bins(&self, width: f64) -> Self {
        let mut cells: Vec<Cell> = Vec::new();
        for cell in &self.cells {
            let joined = if cell.high - cell.low > 0.2 * width {
                *cell
            } else {
                let low = (0.5 * (cell.low + cell.high) / width).floor() * width;
                Cell { low, high: low + width, weight: cell.weight, is_exact: false }
            };
            match cells.last_mut() {
                Some(last) if last.low == joined.low && last.high == joined.high => {
                    last.weight += joined.weight
                }
                _ => cells.push(joined),
            }
        }
        Self { cells, unit_term: 0.0, ..self.clone() }
    }

    /// A value of the sample's scale in the caller's unit.
    pub(crate) fn in_unit(&self, value: f64) -> f64 {
        self.shift + self.scale * value
    }
}

/// The bins with values, in order.
fn sorted(bins: &[Bin]) -> Result<Vec<Bin>, Reason> {
    let mut sorted: Vec<Bin> = Vec::with_capacity(bins.len());
    for bin in bins.iter().filter(|bin| bin.count > 0) {
        if !bin.is_valid() {
            return Err(Reason::InvalidBin(*bin));
        }
        sorted.push(*bin);
    }
    sorted.sort_by(|a, b| a.low.total_cmp(&b.low).then(a.high.total_cmp(&b.high)));
    Ok(sorted)
}

/// The middle of the bin that contains this quantile.
fn weighted_quantile(sorted: &[Bin], level: f64) -> f64 {
    let wanted = level * crate::bins::total(sorted) as f64;
    let mut sum = 0.0;
    for bin in sorted {
        sum += bin.count as f64;
        if sum >= wanted {
            return bin.middle();
        }
    }
    sorted.last().map_or(0.0, Bin::middle)
}

/// A length of the order of the sample's standard deviation that one far value does not change.
fn spread(sorted: &[Bin], shift: f64) -> f64 {
    let quartiles = weighted_quantile(sorted, 0.75) - weighted_quantile(sorted, 0.25);
    if quartiles > 0.0 {
        return quartiles;
    }
    let total = crate::bins::total(sorted) as f64;
    let distance: f64 = sorted.iter().map(|bin| bin.count as f64 * (bin.middle() - shift).abs()).sum();
    let width = sorted.first().map_or(0.0, |bin| if bin.is_open() { 0.0 } else { bin.high - bin.low });
    (distance / total).max(width)
}
