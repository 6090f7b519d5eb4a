//! A square wave on a line: the stimulus of a reaction, and the assignment of answers to rises.

use std::io;

use tardy_sys::clock::{Clock, ClockReader};
use tardy_sys::gpio::{Events, OneLine};
use tardy_sys::waiting::Sleeper;

use crate::timer::grid::{Deadlines, DitheredGrid, Schedule};

/// When the line rises.
#[derive(Clone, Copy, Debug)]
pub struct SquareWave {
    /// The first rise, monotonic.
    pub first_ns: u64,
    /// From one rise to the next.
    pub period_ns: u64,
    /// Each rise is delayed at random by less than this, at most half of the period.
    pub dither_ns: u64,
    /// Seed of the dither.
    pub seed: u64,
}

/// Work that is done while the wave runs.
pub trait WaveObserver {
    /// The line is about to rise again, or last rose a period ago: read the answers that have arrived since.
    fn take_answers(&mut self) -> io::Result<()>;

    /// The clock was read, and the line rises next.
    fn rises(&mut self, at_ns: u64);
}

impl SquareWave {
    /// Drives `line` while `goes_on` returns true for the next deadline.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn drive(
        self,
        line: OneLine<'_>,
        mut goes_on: impl FnMut(u64) -> bool,
        observer: &mut impl WaveObserver,
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
            observer.take_answers()?;
            let now_ns = clock.now_ns();
            observer.rises(now_ns as u64);
            line.set(true)?;
            deadlines.pass(now_ns);
            sleeper.sleep_until(now_ns + high_ns)?;
            line.set(false)?;
            last_ns = now_ns;
        }
        sleeper.sleep_until(last_ns + self.period_ns as i64)?;
        observer.take_answers()
    }
}

/// Passes the times of the pending edges of a non-blocking line to `take`.
///
/// # Errors
/// Any error of the kernel.
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

/// Assigns answers to rises, as an instrument does: the first answer counts, and an answer after two rises belongs to
/// the later one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairing {
    waiting_since_ns: Option<u64>,
}

impl Pairing {
    /// Reports a rise, after all earlier answers. Returns whether the previous rise was not answered.
    pub fn rose(&mut self, at_ns: u64) -> bool {
        self.waiting_since_ns.replace(at_ns).is_some()
    }

    /// Reports an answer. Returns its latency, or `None` if it belongs to no rise.
    pub fn answered(&mut self, at_ns: u64) -> Option<u64> {
        let rose_ns = self.waiting_since_ns.take_if(|rose_ns| *rose_ns <= at_ns)?;
        Some(at_ns - rose_ns)
    }

    /// Ends the wait for the last rise. Returns whether it was left unanswered.
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
        assert_eq!(pairing.answered(50), None, "before the first rise");
        assert!(!pairing.rose(100));
        assert_eq!(
            (pairing.answered(90), pairing.answered(130), pairing.answered(140)),
            (None, Some(30), None)
        );
        assert!(!pairing.rose(200), "the first rise was answered");
        assert!(pairing.rose(300), "the second was not");
        assert_eq!(pairing.answered(310), Some(10));
        assert!(!pairing.rose(400));
        assert!(pairing.end() && !pairing.end());
    }
}
