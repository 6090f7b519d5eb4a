//! Counts of values in bins: the form in which every function of this crate receives measured values.

/// How many values are at least `low` and below `high`.
///
/// Bins may have any widths, so a log-linear histogram needs no conversion. A bin whose ends are equal holds exact
/// values. A bin with an infinite `high` is open: its values are known to be at least `low`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The lowest value of the bin, in any unit; all bins of a call have the same unit.
    pub low: f64,
    /// The end of the bin, which does not belong to it, unless it equals `low`.
    pub high: f64,
    /// How many values are in the bin.
    pub count: u64,
}

impl Bin {
    /// One value that is known exactly.
    pub fn exact(value: f64) -> Self {
        Self { low: value, high: value, count: 1 }
    }

    /// One value that is known to be at least `low` and below `high`.
    pub fn one(low: f64, high: f64) -> Self {
        Self { low, high, count: 1 }
    }

    /// Whether the bin has no upper end.
    pub fn is_open(&self) -> bool {
        self.high == f64::INFINITY
    }

    /// The middle of the bin; the lower end of an open bin.
    pub fn middle(&self) -> f64 {
        if self.is_open() { self.low } else { 0.5 * (self.low + self.high) }
    }

    /// Whether the ends are in order and finite, except for an open upper end.
    pub fn is_valid(&self) -> bool {
        self.low.is_finite() && self.high >= self.low
    }
}

/// How many values all bins have together.
pub fn total(bins: &[Bin]) -> u64 {
    bins.iter().fold(0u64, |sum, bin| sum.saturating_add(bin.count))
}
