//! The samples of the two estimates: the maxima of blocks over all CPUs, and the highest values of all CPUs.

use tardy_record::{Histogram, Series};
use tardy_statistics::bins::Bin;

use super::task::NS_IN_US;

/// Of this many blocks or more, neighbours are joined: longer blocks are closer to an extreme value distribution, and more
/// than these hardly narrow an interval.
const MOST_BLOCKS: usize = 512;
/// A block with fewer readings of a CPU is joined with the next one: the maximum of a few has another distribution.
const LEAST_PER_BLOCK: f64 = 50.0;
/// At most this many of the highest values are fitted.
const MOST_EXCESSES: u64 = 500;
/// Of fewer, the next bin is included.
const LEAST_EXCESSES: u64 = 100;
/// A bin with so many values is not included in any case.
const TOO_MANY: u64 = 10_000;
/// At most this share of all values is a tail.
const MOST_SHARE: f64 = 0.1;

/// Maxima of blocks of equal length, in the order of time; `None` for a block without a reading.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Blocks {
    pub(super) block_ns: u64,
    pub(super) maxima_ns: Vec<Option<i64>>,
}

impl Blocks {
    /// The recorded blocks of several series of a phase together, without a last one that is not complete. `None` if there are
    /// none.
    pub(super) fn recorded(series: &[&Series]) -> Option<Self> {
        let with_maxima = || series.iter().filter(|one| !one.block_maxima.maxima_ns.is_empty());
        let block_ns = with_maxima().map(|one| one.block_maxima.block_ns).max().filter(|ns| *ns > 0)?;
        let start_ns = with_maxima().map(|one| one.block_maxima.start_ns).min()?;
        let end_ns =
            with_maxima().map(|one| one.block_maxima.start_ns.saturating_add(one.counted_ns)).min()?;
        let count = usize::try_from(end_ns.saturating_sub(start_ns) / block_ns).unwrap_or(usize::MAX);
        let longest = with_maxima().map(|one| one.block_maxima.maxima_ns.len()).max()?;
        let mut maxima_ns = vec![None; count.min(longest)];
        for blocks in with_maxima().map(|one| &one.block_maxima) {
            // Threads of a phase start within an interval of each other, and double their blocks at the same time.
            let first_ns = blocks.start_ns - start_ns;
            for (index, max) in (0u64..).zip(&blocks.maxima_ns) {
                let at_ns = first_ns.saturating_add(index.saturating_mul(blocks.block_ns));
                let place = usize::try_from(at_ns / block_ns).unwrap_or(usize::MAX);
                if let Some(joint) = maxima_ns.get_mut(place) {
                    *joint = (*joint).max(*max);
                }
            }
        }
        Some(Self { block_ns, maxima_ns })
    }

    /// Joined until they are few and long enough for a fit.
    pub(super) fn for_fit(mut self, series: &[&Series]) -> Self {
        let per_ns = |one: &&Series| one.tally.recorded as f64 / one.counted_ns.max(1) as f64;
        let slowest = series.iter().map(per_ns).fold(f64::INFINITY, f64::min);
        while self.maxima_ns.len() > 1
            && (self.maxima_ns.len() >= MOST_BLOCKS || slowest * (self.block_ns as f64) < LEAST_PER_BLOCK)
        {
            self.block_ns = self.block_ns.saturating_mul(2);
            self.maxima_ns = self.maxima_ns.chunks_exact(2).map(|pair| pair[0].max(pair[1])).collect();
        }
        self
    }

    /// The maxima as values in us, in bins if the clock was coarser than 1 ns.
    pub(super) fn values(&self) -> Vec<Bin> {
        let known = || self.maxima_ns.iter().flatten();
        let resolution_ns = [1_000_000, 100_000, 10_000, 1000, 100, 10, 1]
            .into_iter()
            .find(|unit| known().all(|ns| ns % unit == 0))
            .unwrap_or(1);
        let value = |ns: &i64| match resolution_ns {
            1 => Bin::exact(*ns as f64 / NS_IN_US),
            unit => Bin::one(*ns as f64 / NS_IN_US, ns.saturating_add(unit) as f64 / NS_IN_US),
        };
        known().map(value).collect()
    }

    /// The share of blocks without a reading.
    pub(super) fn missing_share(&self) -> f64 {
        let missing = self.maxima_ns.iter().filter(|max| max.is_none()).count();
        missing as f64 / self.maxima_ns.len().max(1) as f64
    }

    /// How many blocks have a value of at least `from_ns`.
    pub(super) fn occupied_from(&self, from_ns: i64) -> u64 {
        self.maxima_ns.iter().flatten().filter(|max| **max >= from_ns).count() as u64
    }
}

/// The highest values of several series, over a threshold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Excesses {
    pub(super) threshold_ns: i64,
    pub(super) over: u64,
    pub(super) of: u64,
    /// Their bins, in us, ascending.
    pub(super) values: Vec<Bin>,
}

impl Excesses {
    /// The measured values: those of missed periods belong to the cluster of the late wake-up before them. `None` without a
    /// distribution.
    pub(super) fn highest(series: &[&Series]) -> Option<Self> {
        let mut histogram = Histogram::default();
        for one in series {
            histogram.merge(&one.measured).ok()?;
        }
        let of = histogram.total();
        let most = MOST_EXCESSES.min((of as f64 * MOST_SHARE) as u64);
        let (mut over, mut first) = (0u64, histogram.bins().len());
        for (index, bin) in histogram.bins().iter().enumerate().rev() {
            let with_bin = over.saturating_add(bin.count);
            let is_needed = over < LEAST_EXCESSES && with_bin <= (of / 2).min(TOO_MANY);
            if over > 0 && with_bin > most && !is_needed {
                break;
            }
            (over, first) = (with_bin, index);
        }
        let tail = &histogram.bins()[first..];
        let end = |ns: i64| if ns == i64::MAX { f64::INFINITY } else { ns as f64 / NS_IN_US };
        let value = |bin: &tardy_record::histogram::Bin| Bin {
            low: bin.lower_ns as f64 / NS_IN_US,
            high: end(bin.upper_ns),
            count: bin.count,
        };
        let threshold_ns = tail.first()?.lower_ns;
        Some(Self { threshold_ns, over, of, values: tail.iter().map(value).collect() })
    }
}
