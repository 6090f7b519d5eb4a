//! Detects a guest that hangs.
//!
//! The guest's own time cannot be read without disturbing it. The watchdog uses the emulator's CPU time since the
//! guest's last message, which does not depend on how busy the host is. If the emulator uses no CPU time, because all
//! of the guest's timers have expired, real time counts.

use std::time::{Duration, Instant};

use thiserror::Error;

/// The longest time for which the emulator may use no CPU time.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// A hang.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Stalled {
    /// The emulator works, but the guest sends nothing.
    #[error(
        "no message from the guest in {} s of the emulator's CPU time: it hangs, or needs longer (--patience)",
        .0.as_secs()
    )]
    Working(Duration),
    /// The emulator does not work.
    #[error("no message from the guest, and the emulator was idle for {} s: all of the guest's timers have expired", .0.as_secs())]
    Idle(Duration),
}

/// The watchdog of one guest.
#[derive(Debug)]
pub(super) struct Watchdog {
    patience: Duration,
    /// The emulator's CPU time at the first check after the guest's last message.
    at_last_message: Option<Duration>,
    /// The emulator's CPU time when it last increased, and the time of that check.
    last_work: (Duration, Instant),
}

impl Watchdog {
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience, at_last_message: None, last_work: (Duration::ZERO, Instant::now()) }
    }

    /// Restarts the count, because the guest has sent a message.
    pub(super) fn message_received(&mut self) {
        self.at_last_message = None;
        self.last_work.1 = Instant::now();
    }

    /// Does not count the time up to `now`: a signal has stopped the emulator, and another will continue it.
    pub(super) fn stopped(&mut self, now: Instant) {
        self.last_work.1 = now;
    }

    /// Checks a silent guest, given the emulator's CPU time.
    pub(super) fn check(&mut self, cpu_time: Option<Duration>, now: Instant) -> Result<(), Stalled> {
        let Some(cpu_time) = cpu_time else { return Ok(()) };
        let worked = cpu_time.saturating_sub(*self.at_last_message.get_or_insert(cpu_time));
        if worked > self.patience {
            return Err(Stalled::Working(worked));
        }
        if cpu_time > self.last_work.0 {
            self.last_work = (cpu_time, now);
        }
        let idle = now.saturating_duration_since(self.last_work.1);
        if idle > IDLE_MAX { Err(Stalled::Idle(idle)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn cpu_time_is_counted_from_the_last_message() {
        let (mut watchdog, now) = (Watchdog::new(seconds(10)), Instant::now());
        assert_eq!(watchdog.check(Some(seconds(100)), now), Ok(()));
        assert_eq!(watchdog.check(Some(seconds(110)), now), Ok(()));
        watchdog.message_received();
        assert_eq!(watchdog.check(Some(seconds(115)), now), Ok(()));
        assert_eq!(watchdog.check(Some(seconds(126)), now), Err(Stalled::Working(seconds(11))));
    }

    #[test]
    fn an_emulator_that_a_signal_has_stopped_does_not_hang() {
        let (mut watchdog, start) = (Watchdog::new(seconds(10)), Instant::now());
        assert_eq!(watchdog.check(Some(seconds(5)), start), Ok(()));
        watchdog.stopped(start + seconds(1000));
        assert_eq!(watchdog.check(Some(seconds(5)), start + seconds(1060)), Ok(()));
        assert_eq!(watchdog.check(Some(seconds(5)), start + seconds(1061)), Err(Stalled::Idle(seconds(61))));
    }
}
