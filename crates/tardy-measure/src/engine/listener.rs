//! The receiver of a run's progress and messages.

use tardy_probe::order::Granted;
use tardy_probe::sample_ring::Sample;

/// Receives the progress and the messages of a run. The supervisor's thread calls it, about once per second.
pub trait Listener {
    /// How far the run is.
    fn progress(&mut self, progress: &RunProgress<'_>);
    /// A message that the user should read at once.
    fn message(&mut self, text: &str);
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
