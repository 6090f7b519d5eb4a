//! How far late wake-ups depend on each other, from counts per block of time.
//!
//! The dispersion of the counts (the Fano factor) depends on the length of the blocks: episodes longer than a block look
//! independent in short blocks. So the highest of several lengths counts: the blocks of a declared threshold, and the slices
//! of the series, merged in pairs as long as `BLOCK_MIN` remain. docs/statistics.md has the coverage of the bounds that
//! result; `make coverage` computes it.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};
use tardy_record::threshold::ThresholdCount;
use tardy_record::{Histogram, Series};

/// Slices are merged in pairs as long as this many blocks remain: the dispersion of fewer is mostly chance.
const BLOCK_MIN: usize = 15;
/// The least number of slices whose dispersion is computed.
const SLICE_MIN: usize = 5;
/// The accepted probability of calling independent values clustered.
const SIGNIFICANCE: f64 = 0.05;

/// How much counts per block vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dependence {
    /// The variance of the counts divided by that of independent values, for the length of blocks with the highest ratio.
    pub dispersion: f64,
    /// Whether independent values vary as much with a probability below 5 %.
    pub clustered: bool,
    /// The number of blocks with at least one of the counted values.
    occupied: usize,
}

impl Dependence {
    /// The factor by which counts and trials are divided before they are used in a formula for independent trials, at
    /// least 1. Without it, a nominal 95 % bound holds in 59 % of runs whose late wake-ups come in groups of ten.
    ///
    /// If there are only a few episodes, the dispersion itself is uncertain: it is multiplied by the quotient of the 97.5 %
    /// points of Student's distribution, with the number of occupied blocks, and of the normal distribution. With the 95 % points, bounds
    /// of three groups hold in 92.5 % of runs.
    pub fn inflation(&self) -> f64 {
        if !self.clustered {
            return self.dispersion.max(1.0);
        }
        let freedom = self.occupied.saturating_sub(1).max(1) as f64;
        let widening =
            StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| student.inverse_cdf(0.975)) / 1.959964;
        self.dispersion.max(1.0) * widening.max(1.0)
    }
}

/// The factor of [`Dependence::inflation`]; 1 if the dependence is unknown.
pub fn inflation(dependence: Option<Dependence>) -> f64 {
    dependence.map_or(1.0, |dependence| dependence.inflation())
}

/// The dependence of the values of `series` above `limit_ns`. `None` if there is no such value, or if the series has too
/// few blocks.
pub fn of(series: &Series, limit_ns: i64) -> Option<Dependence> {
    of_several(&[series], limit_ns)
}

/// The same for series that are counted together, such as the CPUs of a phase. Slices of the same index are from about the
/// same time, since all threads of a phase start together.
pub fn of_several(series: &[&Series], limit_ns: i64) -> Option<Dependence> {
    let slices = slices(series, limit_ns);
    let mut lengths = merged(&slices);
    if let [one] = series {
        let declared = one.thresholds.iter().find(|count| i64::try_from(count.limit_ns) == Ok(limit_ns));
        // A run too short for slices has blocks for its declared limits only. Those of the nearest one serve for any limit, so that
        // a limit next to a declared one does not look independent where that one is clustered.
        let nearest = || nearest(one, limit_ns).filter(|_| lengths.is_empty());
        let count = declared.or_else(nearest);
        lengths.extend(count.and_then(|count| of_threshold(count, one.counted_ns)));
    }
    let looks = lengths.len() as f64;
    let clustered = lengths.iter().any(|length| length.probability() < SIGNIFICANCE / looks);
    let dispersion = lengths.iter().map(|length| length.dispersion).max_by(f64::total_cmp)?;
    let occupied = match slices.len() < SLICE_MIN {
        true => lengths.iter().map(|length| length.blocks).max()?,
        false => slices.iter().filter(|block| block.above > 0).count(),
    };
    Some(Dependence { dispersion, clustered, occupied })
}

/// The declared threshold of `series` that is nearest to `limit_ns` and was exceeded.
fn nearest(series: &Series, limit_ns: i64) -> Option<&ThresholdCount> {
    let exceeded = series.thresholds.iter().filter(|count| count.corrected.unwrap_or(count.measured) > 0);
    exceeded.min_by_key(|count| count.limit_ns.cast_signed().abs_diff(limit_ns))
}

/// The values of a block of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Block {
    values: u64,
    above: u64,
}

/// The dispersion for one length of blocks.
struct OfLength {
    blocks: usize,
    dispersion: f64,
}

impl OfLength {
    /// The probability of at least this dispersion for independent values: (B − 1)·D is χ² with B − 1 degrees of freedom.
    fn probability(&self) -> f64 {
        let freedom = self.blocks as f64 - 1.0;
        ChiSquared::new(freedom).map_or(1.0, |chi| chi.sf(freedom * self.dispersion))
    }
}

/// The slices of `series`, those of the same index together; a last one shorter than half the others belongs to the one
/// before it.
fn slices(series: &[&Series], limit_ns: i64) -> Vec<Block> {
    let count = series.iter().map(|one| one.slices.len()).max().unwrap_or(0);
    let mut blocks = vec![Block::default(); count];
    for slice in series.iter().flat_map(|one| one.slices.iter().enumerate()) {
        let (index, slice) = slice;
        blocks[index].values = blocks[index].values.saturating_add(slice.histogram.total());
        blocks[index].above = blocks[index].above.saturating_add(above(&slice.histogram, limit_ns));
    }
    let longest = blocks.iter().map(|block| block.values).max().unwrap_or(0);
    joined(&blocks, longest.div_ceil(2))
}

fn above(histogram: &Histogram, limit_ns: i64) -> u64 {
    let beyond = histogram.bins().iter().filter(|bin| bin.upper_ns > limit_ns.saturating_add(1));
    beyond.fold(0, |sum, bin| sum.saturating_add(bin.count))
}

/// Blocks joined to their successors until each has at least `values`; the rest joins the last.
fn joined(blocks: &[Block], values: u64) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::new();
    let mut open = Block::default();
    let add = |to: &mut Block, block: &Block| {
        to.values = to.values.saturating_add(block.values);
        to.above = to.above.saturating_add(block.above);
    };
    for block in blocks {
        add(&mut open, block);
        if open.values >= values.max(1) {
            all.push(std::mem::take(&mut open));
        }
    }
    if let Some(last) = all.last_mut() {
        add(last, &open);
    }
    all
}

/// The dispersion of `slices`, of their pairs, of the pairs of these, while enough remain.
fn merged(slices: &[Block]) -> Vec<OfLength> {
    let mut lengths = Vec::new();
    let mut blocks = slices.to_vec();
    let mut least = SLICE_MIN;
    while blocks.len() >= least {
        lengths.extend(of_blocks(&blocks));
        let longest = blocks.iter().map(|block| block.values).max().unwrap_or(0);
        // More than one of the longest, or blocks of one value each would never be joined.
        blocks = joined(&blocks, longest.saturating_add((longest / 2).max(1)));
        least = BLOCK_MIN;
    }
    lengths
}

/// Σ (k − np)² / (np(1 − p)) / (B − 1), where the blocks have n values each, of which k are above, and p is the share of
/// all. `None` if none or all are above.
fn of_blocks(blocks: &[Block]) -> Option<OfLength> {
    let values: f64 = blocks.iter().map(|block| block.values as f64).sum();
    let above: f64 = blocks.iter().map(|block| block.above as f64).sum();
    let share = above / values;
    if blocks.len() < 2 || above == 0.0 || share >= 1.0 {
        return None;
    }
    let squares = |block: &Block| {
        let expected = block.values as f64 * share;
        (block.above as f64 - expected).powi(2) / (expected * (1.0 - share))
    };
    let dispersion = blocks.iter().map(squares).sum::<f64>() / (blocks.len() - 1) as f64;
    Some(OfLength { blocks: blocks.len(), dispersion })
}

/// The dispersion over the blocks of a declared threshold, from Σk². The last block of the file may be unfinished, and then
/// counts only if more than half of it passed: a block of a few microseconds without a late wake-up would look like the
/// pause between two episodes.
fn of_threshold(count: &ThresholdCount, counted_ns: u64) -> Option<OfLength> {
    let total = count.corrected.unwrap_or(count.measured) as f64;
    let passed = (counted_ns as f64 / count.block_ns.max(1) as f64).round() as u64;
    let blocks = if counted_ns > 0 { count.blocks.min(passed) } else { count.blocks };
    if total == 0.0 || blocks < 2 {
        return None;
    }
    let mean = total / blocks as f64;
    let variance = (count.sum_of_squared_block_counts as f64 - total * mean).max(0.0) / (blocks as f64 - 1.0);
    Some(OfLength { blocks: usize::try_from(blocks).unwrap_or(usize::MAX), dispersion: variance / mean })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_next_to_a_declared_one_is_as_clustered() {
        let count = |limit_ns| ThresholdCount {
            limit_ns,
            measured: 50,
            corrected: None,
            clusters: 1,
            cluster_gap_cycles: 10,
            blocks: 20,
            block_ns: 1_000_000_000,
            sum_of_squared_block_counts: 2_500,
        };
        let mut series = crate::test_runs::run(20, 1, |_, _| 5.0).series.remove(0);
        series.slices.truncate(1);
        series.thresholds = vec![count(200_000)];
        series.counted_ns = 20_000_000_000;
        let of = |limit_ns| of(&series, limit_ns).map(|dependence| dependence.inflation());
        assert!(of(200_000).is_some_and(|inflation| inflation > 10.0));
        assert_eq!(of(200_001), of(200_000));
        assert_eq!(of(100_000), of(200_000));
    }

    #[test]
    fn blocks_of_one_value_are_joined() {
        let slices: Vec<Block> =
            (0..40).map(|index| Block { values: 1, above: u64::from(index < 20) }).collect();
        let blocks: Vec<usize> = merged(&slices).iter().map(|length| length.blocks).collect();
        assert_eq!(blocks.first(), Some(&40));
        assert!(blocks.windows(2).all(|pair| pair[1] <= pair[0] / 2), "{blocks:?}");
    }
}
