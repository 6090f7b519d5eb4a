//! Reads the kernel's clocks.

use std::io;

use crate::vdso::{self, ClockGettime};

/// Clocks that a thread can wait on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// CLOCK_MONOTONIC.
    Monotonic,
    /// CLOCK_REALTIME.
    Realtime,
    /// CLOCK_TAI.
    Tai,
    /// CLOCK_BOOTTIME.
    Boottime,
}

impl Clock {
    pub(crate) const fn id(self) -> libc::clockid_t {
        match self {
            Self::Monotonic => libc::CLOCK_MONOTONIC,
            Self::Realtime => libc::CLOCK_REALTIME,
            Self::Tai => libc::CLOCK_TAI,
            Self::Boottime => libc::CLOCK_BOOTTIME,
        }
    }

    /// The clock with this kernel number; `None` if it cannot be waited on.
    pub fn of_id(id: i32) -> Option<Self> {
        [Self::Monotonic, Self::Realtime, Self::Tai, Self::Boottime]
            .into_iter()
            .find(|clock| clock.id() == id)
    }

    /// How far this clock is ahead of `other`, in ns: from the closest of several pairs of readings.
    pub fn ahead_of_ns(self, other: Self) -> i64 {
        const PAIRS: usize = 16;
        let pair = |_| {
            let (before, between, after) = (other.now_ns(), self.now_ns(), other.now_ns());
            (after - before, between - before - (after - before) / 2)
        };
        (0..PAIRS).map(pair).min().map_or(0, |(_, ahead)| ahead)
    }

    /// The time in ns since the clock's epoch. On the usual clock sources this is a vDSO call, not a system call.
    ///
    /// # Panics
    /// If the kernel does not support the clock (CLOCK_TAI before 3.10); [`Clock::resolution_ns`] shows that
    /// beforehand.
    #[inline(always)]
    #[allow(clippy::unnecessary_cast, reason = "both fields are narrower on 32-bit targets")]
    pub fn now_ns(self) -> i64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid timespec to write to.
        let status = unsafe { libc::clock_gettime(self.id(), &raw mut time) };
        assert_eq!(status, 0, "the kernel does not support the clock {self:?}");
        time.tv_sec as i64 * 1_000_000_000 + time.tv_nsec as i64
    }

    /// The result of clock_getres(2), in ns: 1 with high-resolution timers, a tick without.
    pub fn resolution_ns(self) -> io::Result<u64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid timespec to write to.
        if unsafe { libc::clock_getres(self.id(), &raw mut time) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

/// A clock prepared for a measuring loop: the shortest path from a wake-up to the time.
#[derive(Debug)]
pub struct ClockReader {
    read: ClockGettime,
    id: libc::clockid_t,
    /// The last reading. The clock was readable when this reader was created, so later readings are not checked for
    /// errors.
    time: libc::timespec,
}

impl ClockReader {
    /// Prepares to read `clock`, and reads it once.
    ///
    /// # Panics
    /// If the kernel does not support the clock, as [`Clock::now_ns`].
    pub fn new(clock: Clock) -> Self {
        Self { read: vdso::clock_gettime(), id: clock.id(), time: timespec(clock.now_ns()) }
    }

    /// The time in ns since the clock's epoch, as [`Clock::now_ns`].
    #[inline(always)]
    #[allow(clippy::unnecessary_cast, reason = "both fields are narrower on 32-bit targets")]
    pub fn now_ns(&mut self) -> i64 {
        // SAFETY: `time` is a valid timespec to write to.
        unsafe { (self.read)(self.id, &raw mut self.time) };
        self.time.tv_sec as i64 * 1_000_000_000 + self.time.tv_nsec as i64
    }
}

/// The monotonic clock in ns, never negative.
#[inline(always)]
pub fn monotonic_ns() -> u64 {
    Clock::Monotonic.now_ns() as u64
}

/// `ns` as a timespec. Times before the epoch do not occur; without support for them the conversion takes fewer
/// instructions per wake-up.
#[inline(always)]
pub(crate) fn timespec(ns: i64) -> libc::timespec {
    let ns = ns.max(0) as u64;
    libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_time_does_not_step_back() {
        let before = monotonic_ns();
        assert!(monotonic_ns() >= before);
        assert!(Clock::Monotonic.resolution_ns().unwrap() >= 1);
    }

    #[test]
    fn a_reader_reads_the_same_clock() {
        for clock in [Clock::Monotonic, Clock::Realtime, Clock::Tai] {
            let mut reader = ClockReader::new(clock);
            // A clock that can be set may step back between two readings, but not each time.
            let mut agrees = || {
                let (before, now, after) = (clock.now_ns(), reader.now_ns(), clock.now_ns());
                (before..=after).contains(&now)
            };
            assert!((0..10).any(|_| agrees()), "{clock:?}");
        }
    }
}
