//! The state of the system clock: its offset from TAI, and whether it is synchronised (adjtimex(2)).

use std::io;

/// The result of adjtimex(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discipline {
    /// TAI − UTC in s: 0 until it is set, 37 since 2017.
    pub tai_minus_utc_s: i32,
    /// Whether the clock is synchronised (no STA_UNSYNC).
    pub synchronised: bool,
    /// Estimated error, in us.
    pub estimated_error_us: u64,
}

/// Reads the state.
///
/// # Errors
/// adjtimex(2)'s, if a filter forbids the call.
#[allow(clippy::unnecessary_cast, reason = "the field is narrower on 32-bit targets")]
pub fn read() -> io::Result<Discipline> {
    // SAFETY: a timex of zeros reads without changing anything.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live timex, which the call fills in.
    if unsafe { libc::adjtimex(&raw mut timex) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Discipline {
        tai_minus_utc_s: timex.tai,
        synchronised: timex.status & libc::STA_UNSYNC == 0,
        estimated_error_us: (timex.esterror as i64).unsigned_abs(),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_offset_is_that_of_the_clocks() {
        use crate::clock::Clock;
        let discipline = super::read().unwrap();
        let apart_ns = Clock::Tai.now_ns() - Clock::Realtime.now_ns();
        let offset_ns = i64::from(discipline.tai_minus_utc_s) * 1_000_000_000;
        assert!((apart_ns - offset_ns).abs() < 1_000_000_000, "{apart_ns} ns apart, {discipline:?}");
    }
}
