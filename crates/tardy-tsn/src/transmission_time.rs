//! How long a frame takes on a cable, and how long Linux's software TAPRIO thinks it does (`net/sched/sch_taprio.c` of 6.12).
//!
//! docs/tsn.md, "Latency", has the definition. Every part that computes a latency takes the times of a cable from [`OnCable`].

/// Octets of a frame on the cable that the kernel does not count: preamble and start delimiter before it, and its check
/// sequence.
pub const FRAMING_BYTES: u32 = 8 + 4;
/// Octets after a frame in which no other one starts. They keep the next frame away, and a latency does not contain them.
pub const GAP_BYTES: u32 = 12;
/// Both.
pub const OVERHEAD_BYTES: u32 = FRAMING_BYTES + GAP_BYTES;
/// The shortest frame without its check sequence (`ETH_ZLEN`): a device fills up shorter ones.
const SHORTEST_BYTES: u32 = 60;

/// How long a frame takes on a cable, in ps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnCable {
    /// From its first bit sent to its last bit sent: what counts as latency.
    pub sent_ps: u64,
    /// From its first bit sent to the end of the gap after it: the next frame starts then at the earliest.
    pub busy_ps: u64,
}

impl OnCable {
    /// The times of a frame that has `bytes` for the kernel.
    pub fn of(bytes: u32, bits_per_second: u64) -> Self {
        let bytes = bytes.max(SHORTEST_BYTES);
        Self {
            sent_ps: octets_ps(bytes.saturating_add(FRAMING_BYTES), bits_per_second),
            busy_ps: octets_ps(bytes.saturating_add(OVERHEAD_BYTES), bits_per_second),
        }
    }

    /// [`Self::sent_ps`] in ns, rounded up.
    pub fn sent_ns(self) -> u64 {
        self.sent_ps.div_ceil(1000)
    }

    /// [`Self::busy_ps`] in ns, rounded up.
    pub fn busy_ns(self) -> u64 {
        self.busy_ps.div_ceil(1000)
    }
}

/// The time of `octets` at `bits_per_second`, in ps, rounded up.
pub fn octets_ps(octets: u32, bits_per_second: u64) -> u64 {
    let ps = (u128::from(octets) * 8_000_000_000_000).div_ceil(u128::from(bits_per_second.max(1)));
    u64::try_from(ps).unwrap_or(u64::MAX)
}

/// The speed that the kernel assumes for a port whose speed is unknown.
pub const UNKNOWN_SPEED_BITS_PER_SECOND: u64 = 10_000_000;

/// The kernel's time for a byte, in picoseconds: the speed is truncated to whole megabits, and the least time is 17.
pub fn picos_per_byte(bits_per_second: u64) -> u64 {
    let megabits = bits_per_second / 1_000_000;
    let megabits = if megabits == 0 { UNKNOWN_SPEED_BITS_PER_SECOND / 1_000_000 } else { megabits };
    (8_000_000 / megabits).max(17)
}

/// The kernel's time for `bytes` on the wire (`length_to_duration`).
pub fn wire_ns(bytes: u64, bits_per_second: u64) -> u64 {
    bytes * picos_per_byte(bits_per_second) / 1000
}

/// The number of bytes that fit into a time, according to the kernel (`duration_to_length`).
pub fn bytes_in(ns: u64, bits_per_second: u64) -> u64 {
    (u128::from(ns) * 1000 / u128::from(picos_per_byte(bits_per_second))).min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_received_a_gap_before_the_cable_is_free() {
        let full = OnCable::of(1514, 100_000_000);
        assert_eq!((full.sent_ps, full.busy_ps), (122_080_000, 123_040_000));
        assert_eq!(OnCable::of(46, 100_000_000), OnCable::of(60, 100_000_000));
        assert_eq!(OnCable::of(60, 100_000_000).sent_ns(), 5_760);
        assert_eq!(octets_ps(64, 10_000_000_000), 51_200);
    }

    #[test]
    fn the_kernels_arithmetic() {
        assert_eq!(wire_ns(60, 10_000_000), 48_000);
        assert_eq!(wire_ns(60, 10_000_000_000), 48);
        assert_eq!(wire_ns(1538, 100_000_000), 123_040);
        assert_eq!(bytes_in(50_000, 100_000_000), 625);
        assert_eq!(picos_per_byte(800_000_000_000), 17);
        assert_eq!(picos_per_byte(64_000), picos_per_byte(10_000_000));
    }
}
