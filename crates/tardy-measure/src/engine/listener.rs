//! The receiver of a run's progress and messages.

use std::fmt;
use std::os::fd::RawFd;

use tardy_probe::order::Granted;
use tardy_probe::sample_ring::Sample;
use tardy_record::units::format_duration_ns;

use super::live::LiveState;

/// Receives the progress and the messages of a run. The supervisor's thread calls it, about once per second.
pub trait Listener {
    /// How far the run is.
    fn progress(&mut self, progress: &RunProgress<'_>);
    /// A message that the user should read at once.
    fn message(&mut self, text: &str);
    /// A remark for the record of a phase that begins, which a summary shows as well.
    fn remark(&mut self, text: &str) {
        self.message(text);
    }
    /// The threads of a phase are ready: their kernel thread ids and how each is scheduled, in the plan's order.
    fn threads(&mut self, _tids: &[u32], _granted: &[Granted]) {}
    /// A recorded wake-up of the thread with this number in the plan, if [`super::Request::reports_samples`] is set.
    /// The samples of a thread arrive in order, in batches of about one second.
    fn sample(&mut self, _thread: usize, _sample: Sample) {}
    /// The user has interrupted the run. It ends as soon as the source has ended.
    fn interrupted(&mut self) {
        self.message("ending; the run is kept (interrupt again to end at once)");
    }
    /// Whether the run is to end as if the user had interrupted it. Called about once per second.
    fn wants_end(&mut self) -> bool {
        false
    }
    /// The descriptors on which the user's requests arrive. The supervisor waits for them as well.
    fn descriptors(&self) -> Vec<RawFd> {
        Vec::new()
    }
    /// Takes the user's requests. Called when one of the descriptors is readable. It must not wait.
    fn requests(&mut self) -> Vec<UserRequest> {
        Vec::new()
    }
    /// Whether [`Self::live`] is to be called after [`Self::progress`].
    fn wants_live(&self) -> bool {
        false
    }
    /// The state of the phase. It must not wait. Its CPU time is recorded as the cost of the live view.
    fn live(&mut self, _state: &LiveState<'_>) {}
}

/// A request of the user during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserRequest {
    /// The run is to end as at the first Ctrl-C.
    End,
    /// This moment is to be marked in the run.
    Mark,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunProgress<'a> {
    /// Label of the phase.
    pub phase: &'a str,
    /// Number of the phase, from 1.
    pub number: usize,
    /// Number of phases.
    pub of: usize,
    /// Counted time in this phase, in ns.
    pub counted_ns: u64,
    /// Planned counted time of the phase, in ns.
    pub planned_ns: u64,
    /// The highest value so far in this phase, in ns, and its CPU.
    pub worst: Option<(i64, u32)>,
    /// Deadlines missed so far in this phase.
    pub missed: u64,
}

/// One line: the phase, the elapsed time, and the worst latency.
impl fmt::Display for RunProgress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |ns: u64| format_duration_ns(ns / 1_000_000_000 * 1_000_000_000);
        if self.of > 1 {
            write!(f, "{} ({} of {})  ", self.phase, self.number, self.of)?;
        }
        write!(f, "{} of {}  ", seconds(self.counted_ns), seconds(self.planned_ns))?;
        match self.worst {
            None => f.write_str("warming up")?,
            Some((ns, cpu)) => write!(f, "worst so far {:.1} us on CPU {cpu}", ns as f64 / 1000.0)?,
        }
        if self.missed > 0 {
            write!(f, ", {} missed", self.missed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_the_elapsed_time_and_the_worst_latency() {
        let now = RunProgress {
            phase: "nanosleep, round 2",
            number: 2,
            of: 3,
            counted_ns: 61_400_000_000,
            planned_ns: 120_000_000_000,
            worst: Some((41_260, 3)),
            missed: 7,
        };
        assert_eq!(
            now.to_string(),
            "nanosleep, round 2 (2 of 3)  1m1s of 2m  worst so far 41.3 us on CPU 3, 7 missed"
        );
    }
}
