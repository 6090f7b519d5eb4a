//! A line that is made high and low at a period: the stimulus of a reaction, and which answer belongs to which rise.

use std::io;

use tardy_sys::clock::{Clock, ClockReader};
use tardy_sys::gpio::{Events, OneLine};
use tardy_sys::waiting::Sleeper;

use crate::timer::grid::{Deadlines, DitheredGrid, Schedule};

/// When it rises.
#[derive(Clone, Copy, Debug)]
pub struct SquareWave {
    /// The first rise, monotonic.
    pub first_ns: u64,
    /// From one rise to the next.
    pub period_ns: u64,
    /// Each is put off at random by up to this, no more than half of the period.
    pub dither_ns: u64,
    /// Seeds the dither.
    pub seed: u64,
}

/// What goes on beside it.
pub trait Beside {
    /// The line is about to rise again, or has for the last time a period ago: what has come back since is to be taken.
    fn take_answers(&mut self) -> io::Result<()>;

    /// The clock was read, and the line rises as the next thing.
    fn rises(&mut self, at_ns: u64);
}

impl SquareWave {
    /// Drives `line` for as long as `goes_on` says so of the next deadline.
    ///
    /// # Errors
    /// Whatever the kernel says.
    pub fn drive(
        self,
        line: OneLine<'_>,
        mut goes_on: impl FnMut(u64) -> bool,
        beside: &mut impl Beside,
    ) -> io::Result<()> {
        let (mut clock, mut sleeper) = (ClockReader::new(Clock::Monotonic), Sleeper::new(Clock::Monotonic));
        let mut deadlines = DitheredGrid::new(Schedule {
            clock: Clock::Monotonic,
            first_ns: self.first_ns as i64,
            interval_ns: self.period_ns,
            dither_ns: self.dither_ns,
            seed: self.seed,
        });
        let high_ns = ((self.period_ns - self.dither_ns) / 2) as i64;
        let mut last_ns = self.first_ns as i64;
        while goes_on(deadlines.next_ns() as u64) {
            sleeper.sleep_until(deadlines.next_ns())?;
            beside.take_answers()?;
            let now_ns = clock.now_ns();
            beside.rises(now_ns as u64);
            line.set(true)?;
            deadlines.pass(now_ns);
            sleeper.sleep_until(now_ns + high_ns)?;
            line.set(false)?;
            last_ns = now_ns;
        }
        sleeper.sleep_until(last_ns + self.period_ns as i64)?;
        beside.take_answers()
    }
}

/// Hands the times of the edges that have come on a line that never waits to `take`.
///
/// # Errors
/// Whatever the kernel says.
pub fn take_edges(line: OneLine<'_>, mut take: impl FnMut(u64)) -> io::Result<()> {
    let mut events = Events::default();
    loop {
        match line.read_edges(&mut events) {
            Ok(read) => events[..read].iter().for_each(|edge| take(edge.timestamp_ns)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Which answer belongs to which rise: of one that came twice the first, and an answer that two rises preceded is the later
/// one's, as an instrument would have it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairing {
    waiting_since_ns: Option<u64>,
}

impl Pairing {
    /// It rose; answers of before were to be told before. Whether the rise before went unanswered.
    pub fn rose(&mut self, at_ns: u64) -> bool {
        self.waiting_since_ns.replace(at_ns).is_some()
    }

    /// An answer came back. How long it took, if it is anybody's.
    pub fn answered(&mut self, at_ns: u64) -> Option<u64> {
        let rose_ns = self.waiting_since_ns.take_if(|rose_ns| *rose_ns <= at_ns)?;
        Some(at_ns - rose_ns)
    }

    /// The last rise has been waited for long enough. Whether it went unanswered.
    pub fn end(&mut self) -> bool {
        self.waiting_since_ns.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rise_has_one_answer_or_none() {
        let mut pairing = Pairing::default();
        assert_eq!(pairing.answered(50), None, "of nothing");
        assert!(!pairing.rose(100));
        assert_eq!(
            (pairing.answered(90), pairing.answered(130), pairing.answered(140)),
            (None, Some(30), None)
        );
        assert!(!pairing.rose(200), "the one before was answered");
        assert!(pairing.rose(300), "and this one was not");
        assert_eq!(pairing.answered(310), Some(10));
        assert!(!pairing.rose(400));
        assert!(pairing.end() && !pairing.end());
    }
}
