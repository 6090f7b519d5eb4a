//! Passes every sample to the supervisor, if requested: the probe puts each into its block's ring, and the supervisor
//! empties the ring once per second.
//!
//! The probe counts a sample before it puts it into the ring. If the ring is full, the sample is still in the
//! histogram, and is counted as lost to the file: a slow disk costs lines of the file, not correctness.

use tardy_sys::ring::{Ring, RingReader, RingWriter};

/// The shortest time until a ring is full. The supervisor empties it once per second, but a slow disk may delay it.
const RING_NS: u64 = 4_000_000_000;
/// The minimum number of slots, for long intervals.
const SLOT_COUNT_MIN: u64 = 64;

/// Slots of a noise probe's ring: more than the gaps that may occur in the second between two visits of the supervisor.
pub const GAP_SLOTS: usize = 1 << 16;

/// One recorded wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The cycle's number in its thread and phase, from 0.
    pub cycle: u64,
    /// Time of the wake-up, monotonic.
    pub at_ns: u64,
    /// The latency; negative if the wake-up was early.
    pub late_ns: i64,
}

/// Slots of a ring for samples that come every `interval_ns`: a power of two.
pub fn slots_for(interval_ns: u64) -> usize {
    RING_NS.div_ceil(interval_ns.max(1)).clamp(SLOT_COUNT_MIN, 1 << 24).next_power_of_two() as usize
}

/// The probe's end of a ring.
#[derive(Debug)]
pub struct SampleWriter<'a>(RingWriter<'a>);

impl<'a> SampleWriter<'a> {
    /// The only writer of `ring`.
    pub fn new(ring: Ring<'a>) -> Self {
        Self(ring.writer())
    }

    /// Adds `sample`. Returns whether there was room.
    #[inline(always)]
    pub fn put(&mut self, sample: Sample) -> bool {
        self.0.put([sample.cycle, sample.at_ns, sample.late_ns as u64])
    }
}

/// The supervisor's end of a ring.
#[derive(Debug)]
pub struct SampleReader<'a>(RingReader<'a>);

impl<'a> SampleReader<'a> {
    /// The only reader of `ring`.
    pub fn new(ring: Ring<'a>) -> Self {
        Self(ring.reader())
    }

    /// The number of samples that can be taken now.
    pub fn waiting(&self) -> usize {
        self.0.waiting()
    }

    /// Takes the oldest sample, if there is one.
    pub fn take(&mut self) -> Option<Sample> {
        let [cycle, at_ns, late_ns] = self.0.take()?;
        Some(Sample { cycle, at_ns, late_ns: late_ns as i64 })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tardy_sys::shared_map::SharedMap;

    use super::*;

    fn sample(cycle: u64) -> Sample {
        Sample { cycle, at_ns: cycle.wrapping_mul(200_000), late_ns: 3 - cycle as i64 }
    }

    #[test]
    fn a_ring_holds_four_seconds() {
        assert_eq!(slots_for(200_000), 32_768);
        assert_eq!(slots_for(20_000), 262_144);
        assert_eq!(slots_for(1_000_000), 4096);
        assert_eq!(slots_for(3_600_000_000_000), 64);
        assert_eq!(slots_for(0), 1 << 24);
    }

    proptest! {
        /// For any order of puts and takes, in two mappings of the file as in the two processes: accepted samples are
        /// taken once and in order, and a sample is refused only if the ring is full.
        #[test]
        fn samples_arrive_once_and_in_order(
            slots in (0u32..6).prop_map(|power| 1usize << power),
            // How many samples are put and then taken, in turn; long enough to wrap around the ring several times.
            turns in prop::collection::vec((0usize..80, 0usize..80), 1..60),
        ) {
            let directory = tempfile::tempdir_in("/dev/shm").unwrap();
            let path = directory.path().join("map");
            let supervisor = SharedMap::create_with_rings(&path, 2, 8, slots).unwrap();
            let probe = SharedMap::open(&path).unwrap();
            let mut writer = SampleWriter::new(probe.ring(1).unwrap());
            let mut reader = SampleReader::new(supervisor.ring(1).unwrap());
            let mut expected = std::collections::VecDeque::new();
            let mut cycle = 0;
            for (puts, takes) in turns {
                for _ in 0..puts {
                    let had_room = expected.len() < slots;
                    prop_assert_eq!(writer.put(sample(cycle)), had_room);
                    if had_room {
                        expected.push_back(sample(cycle));
                    }
                    cycle += 1;
                }
                for _ in 0..takes {
                    prop_assert_eq!(reader.waiting(), expected.len());
                    prop_assert_eq!(reader.take(), expected.pop_front());
                }
            }
            let rest: Vec<Sample> = std::iter::from_fn(|| reader.take()).collect();
            prop_assert_eq!(rest, Vec::from(expected));
            prop_assert!(supervisor.ring(0).unwrap().reader().take().is_none(), "the neighbour's ring is untouched");
        }
    }
}
