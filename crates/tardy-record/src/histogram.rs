//! Histograms: sparse bins with explicit edges.
//!
//! A stored histogram does not name a layout: every bin carries its own edges. One type therefore holds tardy's
//! log-linear bins as well as the linear bins of cyclictest and rtla, and a reader needs no formula.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::layout::LogLinear;

/// Dense counters are compared with zeros in groups of so many: most bins of a measurement are empty, and a running measurement
/// is read once per second.
const GROUP: usize = 64;

/// One bin: [lower edge, upper edge, count], in ns; it holds lower ≤ value < upper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "(i64, i64, u64)", into = "(i64, i64, u64)")]
#[schemars(with = "(i64, i64, u64)")]
pub struct Bin {
    /// Lowest value that the bin holds.
    pub lower_ns: i64,
    /// First value beyond the bin.
    pub upper_ns: i64,
    /// The number of values in it; never 0 in a stored histogram.
    pub count: u64,
}

impl Bin {
    /// Whether it has no upper end: only the lower bound of its values is known.
    pub fn is_open(&self) -> bool {
        self.upper_ns == i64::MAX
    }
}

impl From<(i64, i64, u64)> for Bin {
    fn from((lower_ns, upper_ns, count): (i64, i64, u64)) -> Self {
        Self { lower_ns, upper_ns, count }
    }
}

impl From<Bin> for (i64, i64, u64) {
    fn from(bin: Bin) -> Self {
        (bin.lower_ns, bin.upper_ns, bin.count)
    }
}

/// Occupied bins in ascending order, without overlaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Histogram {
    bins: Vec<Bin>,
}

/// Why bins are not a histogram, or two histograms cannot be added.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum HistogramError {
    /// The upper edge of a bin is not above its lower edge.
    #[error("bin [{0}, {1}) holds no value")]
    Inverted(i64, i64),
    /// A stored bin is empty.
    #[error("bin [{0}, {1}) is empty; a sparse histogram leaves it out")]
    Empty(i64, i64),
    /// Bins are out of order or overlap.
    #[error("bin [{0}, {1}) begins before the bin below it ends")]
    Overlap(i64, i64),
    /// More than 2^64 values.
    #[error("the counts add up to more than 2^64")]
    Overflow,
    /// The histograms have different layouts.
    #[error(
        "bins [{0}, {1}) and [{2}, {3}) overlap without being the same: the histograms have different layouts"
    )]
    Layouts(i64, i64, i64, i64),
}

impl Histogram {
    /// A histogram of `bins`, which must be occupied, in order and without overlaps.
    pub fn from_bins(bins: Vec<Bin>) -> Result<Self, HistogramError> {
        let histogram = Self { bins };
        histogram.check()?;
        Ok(histogram)
    }

    /// A histogram from dense counters: `positive[i]` and `negative[i]` count the values whose magnitude is in bin
    /// `i` of `layout`.
    pub fn from_dense(layout: LogLinear, negative: &[u64], positive: &[u64]) -> Self {
        Self::from_dense_of(layout, 1, negative, positive)
    }

    /// The same for values that are multiples of `unit_ns`, truncated to it.
    pub(crate) fn from_dense_of(layout: LogLinear, unit_ns: i64, negative: &[u64], positive: &[u64]) -> Self {
        let in_ns = |edge: i64| if edge.abs() == i64::MAX { edge } else { edge.saturating_mul(unit_ns) };
        let occupied = |counts: &[u64], edges: &dyn Fn(usize) -> (i64, i64)| -> Vec<Bin> {
            let bin = |(index, count): (usize, &u64)| {
                let (lower_ns, upper_ns) = edges(index);
                let (lower_ns, upper_ns) = (in_ns(lower_ns), in_ns(upper_ns));
                Bin { lower_ns, upper_ns, count: *count }
            };
            let groups = counts.chunks(GROUP).enumerate();
            let not_empty = groups.filter(|(_, group)| **group != [0; GROUP][..group.len()]);
            let bins = not_empty.flat_map(|(index, group)| (index * GROUP..).zip(group));
            bins.filter(|(_, count)| **count > 0).map(bin).collect()
        };
        let mut bins = occupied(negative, &|index| layout.negative_edges(index));
        bins.reverse();
        bins.extend(occupied(positive, &|index| layout.edges(index)));
        Self { bins }
    }

    /// Checks the invariants of a stored histogram.
    pub fn check(&self) -> Result<(), HistogramError> {
        let mut total: u64 = 0;
        let mut end = i64::MIN;
        for bin in &self.bins {
            let (lower, upper) = (bin.lower_ns, bin.upper_ns);
            if upper <= lower {
                return Err(HistogramError::Inverted(lower, upper));
            }
            if bin.count == 0 {
                return Err(HistogramError::Empty(lower, upper));
            }
            if lower < end {
                return Err(HistogramError::Overlap(lower, upper));
            }
            total = total.checked_add(bin.count).ok_or(HistogramError::Overflow)?;
            end = upper;
        }
        Ok(())
    }

    /// The occupied bins, in ascending order.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// Whether it consists of one bin without an upper end: it gives the number of values but not their distribution.
    pub fn has_no_distribution(&self) -> bool {
        matches!(&self.bins[..], [one] if one.is_open())
    }

    /// The same histogram with all bins that end above `from_ns` merged into one bin without an upper end, which
    /// starts there.
    pub fn open_from(&self, from_ns: i64) -> Self {
        let mut bins: Vec<Bin> = self.bins.iter().filter(|bin| bin.upper_ns <= from_ns).copied().collect();
        let count: u64 = self.bins[bins.len()..].iter().map(|bin| bin.count).sum();
        if count > 0 {
            bins.push(Bin { lower_ns: from_ns, upper_ns: i64::MAX, count });
        }
        Self { bins }
    }

    /// The number of values.
    pub fn total(&self) -> u64 {
        self.bins.iter().map(|bin| bin.count).sum()
    }

    /// The number of values in bins that start at or above `limit_ns`; the bin that straddles the limit is not
    /// counted.
    pub fn count_from(&self, limit_ns: i64) -> u64 {
        self.bins.iter().filter(|bin| bin.lower_ns >= limit_ns).map(|bin| bin.count).sum()
    }

    /// How many values are above `limit_ns`, at least and at most: the bin that straddles the limit decides the difference.
    pub fn counts_above(&self, limit_ns: i64) -> (u64, u64) {
        let count = |is_above: &dyn Fn(&Bin) -> bool| {
            self.bins.iter().filter(|bin| is_above(bin)).map(|bin| bin.count).sum()
        };
        (count(&|bin| bin.lower_ns > limit_ns), count(&|bin| bin.upper_ns - 1 > limit_ns))
    }

    /// Adds the values of `other`, which must have the same layout.
    pub fn merge(&mut self, other: &Self) -> Result<(), HistogramError> {
        let mut merged = Vec::with_capacity(self.bins.len() + other.bins.len());
        let (mut left, mut right) = (self.bins.iter().peekable(), other.bins.iter().peekable());
        loop {
            let bin = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if (a.lower_ns, a.upper_ns) == (b.lower_ns, b.upper_ns) => {
                    let count = a.count.checked_add(b.count).ok_or(HistogramError::Overflow)?;
                    let bin = Bin { count, ..**a };
                    left.next();
                    right.next();
                    bin
                }
                (Some(a), Some(b)) if a.lower_ns < b.upper_ns && b.lower_ns < a.upper_ns => {
                    return Err(HistogramError::Layouts(a.lower_ns, a.upper_ns, b.lower_ns, b.upper_ns));
                }
                (Some(a), Some(b)) if a.lower_ns > b.lower_ns => {
                    let bin = **b;
                    right.next();
                    bin
                }
                (Some(a), _) => {
                    let bin = **a;
                    left.next();
                    bin
                }
                (None, Some(b)) => {
                    let bin = **b;
                    right.next();
                    bin
                }
                (None, None) => break,
            };
            merged.push(bin);
        }
        let merged = Self { bins: merged };
        merged.check()?;
        *self = merged;
        Ok(())
    }

    /// The same values in a coarser layout, whose bins must contain this one's.
    pub fn coarsened(&self, layout: LogLinear) -> Self {
        let mut bins: Vec<Bin> = Vec::new();
        for bin in &self.bins {
            let (lower_ns, upper_ns) = layout.edges_of(bin.lower_ns);
            match bins.last_mut() {
                Some(last) if last.lower_ns == lower_ns => last.count += bin.count,
                _ => bins.push(Bin { lower_ns, upper_ns, count: bin.count }),
            }
        }
        Self { bins }
    }

    /// The values that were added since `earlier`, an earlier reading of the same growing histogram.
    ///
    /// A bin that shrank counts as unchanged: readings of live counters may differ by a sample.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut earlier = earlier.bins.iter().peekable();
        let mut bins = Vec::new();
        for bin in &self.bins {
            while earlier.peek().is_some_and(|old| old.lower_ns < bin.lower_ns) {
                earlier.next();
            }
            let before = earlier.peek().filter(|old| old.lower_ns == bin.lower_ns).map_or(0, |old| old.count);
            let count = bin.count.saturating_sub(before);
            if count > 0 {
                bins.push(Bin { count, ..*bin });
            }
        }
        Self { bins }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{COARSE, FINE};
    use proptest::prelude::*;

    fn of(values: &[i64]) -> Histogram {
        let (mut negative, mut positive) = (vec![0; FINE.bin_count()], vec![0; FINE.bin_count()]);
        for value in values {
            let side = if *value < 0 { &mut negative } else { &mut positive };
            side[FINE.index(value.unsigned_abs())] += 1;
        }
        Histogram::from_dense(FINE, &negative, &positive)
    }

    #[test]
    fn early_wakeups_are_negative_numbers() {
        let histogram = of(&[-3, 5, -300]);
        assert_eq!(histogram.bins()[0].lower_ns, -301);
        assert_eq!(histogram.bins()[1], Bin { lower_ns: -3, upper_ns: -2, count: 1 });
        assert_eq!(histogram.check(), Ok(()));
    }

    #[test]
    fn a_single_value_in_any_bin_is_kept() {
        // Steps of 31 reach every place within a group.
        for index in (0..FINE.bin_count()).step_by(31) {
            let mut counts = vec![0; FINE.bin_count()];
            counts[index] = 3;
            let (lower_ns, upper_ns) = FINE.edges(index);
            let bin = Bin { lower_ns, upper_ns, count: 3 };
            assert_eq!(Histogram::from_dense(FINE, &[], &counts).bins(), [bin]);
        }
    }

    #[test]
    fn bad_bins_are_refused_with_their_edges() {
        let bins =
            |list: &[(i64, i64, u64)]| Histogram::from_bins(list.iter().map(|b| (*b).into()).collect());
        assert_eq!(bins(&[(5, 5, 1)]), Err(HistogramError::Inverted(5, 5)));
        assert_eq!(bins(&[(5, 6, 0)]), Err(HistogramError::Empty(5, 6)));
        assert_eq!(bins(&[(5, 8, 1), (7, 9, 1)]), Err(HistogramError::Overlap(7, 9)));
        assert_eq!(bins(&[(1, 2, u64::MAX), (2, 3, 1)]), Err(HistogramError::Overflow));
    }

    #[test]
    fn different_layouts_do_not_add_up() {
        let mut a = Histogram::from_bins(vec![(0, 1000, 3).into()]).unwrap();
        let b = Histogram::from_bins(vec![(500, 600, 1).into()]).unwrap();
        assert_eq!(a.merge(&b), Err(HistogramError::Layouts(0, 1000, 500, 600)));
        assert_eq!(a.total(), 3, "a failed merge changes nothing");
    }

    fn values() -> impl Strategy<Value = Vec<i64>> {
        prop::collection::vec(prop_oneof![-10_000i64..10_000, 0i64..3_000_000_000], 0..200)
    }

    proptest! {
        #[test]
        fn merging_loses_nothing(a in values(), b in values()) {
            let mut merged = of(&a);
            merged.merge(&of(&b)).unwrap();
            let both: Vec<i64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(&merged, &of(&both));
            prop_assert_eq!(merged.total(), both.len() as u64);
        }

        #[test]
        fn coarsening_keeps_every_value(a in values()) {
            let coarse = of(&a).coarsened(COARSE);
            prop_assert_eq!(coarse.check(), Ok(()));
            prop_assert_eq!(coarse.total(), a.len() as u64);
        }

        #[test]
        fn the_difference_and_the_earlier_reading_add_up(a in values(), b in values()) {
            let mut later = of(&a);
            later.merge(&of(&b)).unwrap();
            prop_assert_eq!(later.since(&of(&a)), of(&b));
        }

        #[test]
        fn a_file_reads_back_what_was_written(a in values()) {
            let text = serde_json::to_string(&of(&a)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), of(&a));
        }
    }
}
