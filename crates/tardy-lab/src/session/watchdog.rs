//! Noticing a guest that hangs.
//!
//! The guest's own time cannot be asked for without disturbing it. What can be seen from outside is how long the
//! emulator has worked since the guest's last word: counted in its CPU time, so that a host with other things to do
//! is no reason, and in real time where the emulator does not even work, as it does when all timers of the guest have
//! run out.

use std::time::{Duration, Instant};

use thiserror::Error;

/// The emulator has stood still for so long, with nothing left to do.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// How a hang was noticed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Stalled {
    /// It works, and gets nowhere.
    #[error(
        "no word from the guest while the emulator worked for {} s: it hangs, or needs longer (--patience)",
        .0.as_secs()
    )]
    Working(Duration),
    /// It does nothing.
    #[error("no word from the guest, and the emulator has had nothing to do for {} s: all its timers have run out", .0.as_secs())]
    Idle(Duration),
}

/// Looks at one guest.
#[derive(Debug)]
pub(super) struct Watchdog {
    patience: Duration,
    /// CPU time of the emulator at the guest's last word, as of the first look after it.
    at_last_word: Option<Duration>,
    /// CPU time at the last look at which there was some more of it, and when that was.
    last_work: (Duration, Instant),
}

impl Watchdog {
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience, at_last_word: None, last_work: (Duration::ZERO, Instant::now()) }
    }

    /// The guest said something.
    pub(super) fn heard(&mut self) {
        self.at_last_word = None;
        self.last_work.1 = Instant::now();
    }

    /// Looks, while the guest says nothing.
    pub(super) fn look(&mut self, cpu_time: Option<Duration>) -> Result<(), Stalled> {
        let Some(cpu_time) = cpu_time else { return Ok(()) };
        let worked = cpu_time.saturating_sub(*self.at_last_word.get_or_insert(cpu_time));
        if worked > self.patience {
            return Err(Stalled::Working(worked));
        }
        if cpu_time > self.last_work.0 {
            self.last_work = (cpu_time, Instant::now());
        }
        let idle = self.last_work.1.elapsed();
        if idle > IDLE_MAX { Err(Stalled::Idle(idle)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_without_a_word_is_counted_from_the_last_word() {
        let mut watchdog = Watchdog::new(Duration::from_secs(10));
        let at = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(watchdog.look(at(100)), Ok(()));
        assert_eq!(watchdog.look(at(110)), Ok(()));
        watchdog.heard();
        assert_eq!(watchdog.look(at(115)), Ok(()));
        assert_eq!(watchdog.look(at(126)), Err(Stalled::Working(Duration::from_secs(11))));
    }
}
