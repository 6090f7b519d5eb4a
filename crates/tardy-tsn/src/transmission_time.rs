//! Transmission times as computed by Linux's software TAPRIO (`net/sched/sch_taprio.c` of 6.12).

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
    fn the_kernels_arithmetic() {
        assert_eq!(wire_ns(60, 10_000_000), 48_000);
        assert_eq!(wire_ns(60, 10_000_000_000), 48);
        assert_eq!(wire_ns(1538, 100_000_000), 123_040);
        assert_eq!(bytes_in(50_000, 100_000_000), 625);
        assert_eq!(picos_per_byte(800_000_000_000), 17);
        assert_eq!(picos_per_byte(64_000), picos_per_byte(10_000_000));
    }
}
