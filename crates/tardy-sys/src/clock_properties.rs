//! The resolution of a clock and the cost of reading it.

use std::io;
use std::mem::MaybeUninit;

/// The clocks of wake-ups, by their names in clock_gettime(2).
pub const CLOCKS: [(&str, libc::clockid_t); 3] =
    [("monotonic", libc::CLOCK_MONOTONIC), ("realtime", libc::CLOCK_REALTIME), ("tai", libc::CLOCK_TAI)];

/// The result of clock_getres(2) for a clock of [`CLOCKS`], in ns.
pub fn resolution_ns(clock: libc::clockid_t) -> io::Result<u64> {
    let mut answer = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the pointer is to a live timespec, which the call fills in.
    if unsafe { libc::clock_getres(clock, answer.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, and all zeros was a timespec already.
    Ok(nanoseconds(unsafe { answer.assume_init() }))
}

/// The cost of reading the monotonic clock, in ns: the least mean of several batches, so that a disturbed batch does
/// not count.
pub fn least_read_cost_ns() -> u64 {
    const BATCHES: usize = 64;
    const READINGS: u64 = 64;
    let batch = || {
        let start = monotonic_ns();
        for _ in 1..READINGS {
            std::hint::black_box(monotonic_ns());
        }
        (monotonic_ns() - start) / READINGS
    };
    (0..BATCHES).map(|_| batch()).min().unwrap_or(0)
}

fn monotonic_ns() -> u64 {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the pointer is to a live timespec, which the call fills in; it was a timespec before, too.
    nanoseconds(unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, now.as_mut_ptr());
        now.assume_init()
    })
}

/// `tv_sec` and `tv_nsec` have different widths on different targets.
#[allow(clippy::unnecessary_cast)]
fn nanoseconds(time: libc::timespec) -> u64 {
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_has_a_resolution() {
        for (name, clock) in CLOCKS {
            assert!(resolution_ns(clock).unwrap() > 0, "{name}");
        }
        assert!(resolution_ns(9999).is_err());
    }

    #[test]
    fn reading_the_clock_takes_less_than_a_millisecond() {
        assert!(least_read_cost_ns() < 1_000_000);
    }
}
