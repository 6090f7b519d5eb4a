//! The receiver of a run's progress and messages.

use std::os::fd::RawFd;

use tardy_probe::order::Granted;
use tardy_probe::sample_ring::Sample;

use super::live::LiveState;
use super::progress::RunProgress;

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
