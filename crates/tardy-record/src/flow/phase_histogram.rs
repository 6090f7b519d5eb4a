//! A histogram of the phases at which frames arrived.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most bins of a cycle.
pub const PHASE_BIN_COUNT: u64 = 4096;

/// Frames by phase: bins of equal width, from 0 to the end of the cycle, without the empty ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseHistogram {
    /// Width of a bin, in ns.
    pub bin_ns: u64,
    /// The bins that are not empty, in ascending order.
    pub bins: Vec<PhaseBin>,
    /// The earliest phase, exact.
    pub min_ns: Option<u64>,
    /// The latest phase, exact.
    pub max_ns: Option<u64>,
}

/// One bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseBin {
    /// Its index, from 0; it starts at index times `bin_ns`.
    pub index: u32,
    /// Number of frames.
    pub frames: u64,
    /// Bytes of these frames on the wire, with preamble, checksum and gap if the link has them.
    pub wire_bytes: u64,
}

impl PhaseHistogram {
    /// The bin width for a cycle: the least of 1, 2, 5, 10, 20, … ns that needs at most [`PHASE_BIN_COUNT`] bins.
    pub fn bin_ns_for(cycle_ns: u64) -> u64 {
        let mut decade = 1u64;
        loop {
            for width in [decade, decade.saturating_mul(2), decade.saturating_mul(5)] {
                if cycle_ns.div_ceil(width) <= PHASE_BIN_COUNT {
                    return width;
                }
            }
            decade = decade.saturating_mul(10);
        }
    }

    /// The number of frames.
    pub fn frames(&self) -> u64 {
        self.bins.iter().fold(0, |sum, bin| sum.saturating_add(bin.frames))
    }

    /// Mean rate in a bin, in bit/s, over `cycles` cycles.
    pub fn rate_bps(&self, bin: &PhaseBin, cycles: f64) -> f64 {
        bin.wire_bytes as f64 * 8.0 / (cycles * self.bin_ns as f64 * 1e-9)
    }

    pub(crate) fn contradiction(&self, cycle_ns: u64) -> Option<String> {
        if self.bin_ns == 0 || cycle_ns.div_ceil(self.bin_ns) > PHASE_BIN_COUNT {
            return Some(format!("bins of {} ns for a cycle of {cycle_ns} ns", self.bin_ns));
        }
        let in_order = self.bins.windows(2).all(|pair| pair[0].index < pair[1].index);
        let count = cycle_ns.div_ceil(self.bin_ns);
        if !in_order || self.bins.last().is_some_and(|bin| u64::from(bin.index) >= count) {
            return Some("bins out of order, or beyond the cycle".to_owned());
        }
        if self.min_ns > self.max_ns || self.min_ns.is_some() == self.bins.is_empty() {
            return Some("extremes and bins do not agree".to_owned());
        }
        None
    }
}

/// A phase histogram under construction.
#[derive(Clone, Debug)]
pub(crate) struct PhaseCounts {
    pub(crate) bin_ns: u64,
    bins: BTreeMap<u32, (u64, u64)>,
    min_ns: u64,
    max_ns: u64,
}

impl PhaseCounts {
    pub(crate) fn of_cycle(cycle_ns: u64) -> Self {
        Self {
            bin_ns: PhaseHistogram::bin_ns_for(cycle_ns),
            bins: BTreeMap::new(),
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    pub(crate) fn add(&mut self, phase_ns: u64, wire_bytes: u64) {
        let (frames, bytes) = self.bins.entry((phase_ns / self.bin_ns) as u32).or_default();
        *frames += 1;
        *bytes += wire_bytes;
        self.min_ns = self.min_ns.min(phase_ns);
        self.max_ns = self.max_ns.max(phase_ns);
    }

    pub(crate) fn so_far(&self) -> PhaseHistogram {
        let bin = |(index, (frames, wire_bytes)): (&u32, &(u64, u64))| PhaseBin {
            index: *index,
            frames: *frames,
            wire_bytes: *wire_bytes,
        };
        let some = |ns: u64| (!self.bins.is_empty()).then_some(ns);
        PhaseHistogram {
            bin_ns: self.bin_ns,
            bins: self.bins.iter().map(bin).collect(),
            min_ns: some(self.min_ns),
            max_ns: some(self.max_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_round_and_few_enough() {
        let widths = [1, 4096, 4097, 1_000_000, 10_000_000, 1_000_000_000].map(PhaseHistogram::bin_ns_for);
        assert_eq!(widths, [1, 1, 2, 500, 5000, 500_000]);
        assert!(u64::MAX.div_ceil(PhaseHistogram::bin_ns_for(u64::MAX)) <= PHASE_BIN_COUNT);
    }

    #[test]
    fn a_rate_is_bytes_by_time() {
        let mut counts = PhaseCounts::of_cycle(1_000_000);
        (0..10).for_each(|_| counts.add(499, 625));
        let histogram = counts.so_far();
        let rate = histogram.rate_bps(&histogram.bins[0], 100.0);
        assert!((rate - 1e9).abs() < 1.0, "6,250 B in a hundred times 500 ns are 1 Gbit/s, not {rate}");
    }
}
