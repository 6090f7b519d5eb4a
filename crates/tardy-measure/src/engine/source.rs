//! The source of a phase's readings, and how it is made from the phase's plan.

use std::os::fd::RawFd;
use std::rc::Rc;

use tardy_host::watch::WakeTimes;
use tardy_probe::order::Granted;
use tardy_record::Run;
use tardy_record::plan::PhasePlan;
use tardy_record::reason::Reason;
use tardy_record::self_cost::ThreadCost;
use tardy_record::series::Series;

use super::clock::Clock;
use super::live::LiveSeries;
use super::observer::Observer;
use super::phase_map::{MapLayout, PhaseMap};
use super::reading::{Counted, Reading, SourceProgress};
use super::request::Request;
use super::supervisor::Supervisor;

/// Makes the source and the observers of each phase.
pub(crate) trait Sources<'r> {
    /// The layout of the map that the phase counts in.
    fn map_layout(&self, request: &Request, plan: &PhasePlan) -> MapLayout;

    /// The source and the observers of a phase. Nothing is started yet.
    ///
    /// # Errors
    /// A message for the user, if the plan lacks what its source needs.
    fn make(&self, context: PhaseContext<'r>) -> Result<Parts<'r>, String>;
}

/// The context from which a source is made.
#[derive(Clone)]
pub struct PhaseContext<'r> {
    /// The run's request.
    pub request: &'r Request,
    /// Index of the phase.
    pub index: usize,
    /// Its plan.
    pub plan: &'r PhasePlan,
    /// Its map.
    pub(crate) map: Rc<PhaseMap>,
    /// The run's clock.
    pub(crate) clock: Rc<dyn Clock>,
}

/// A source and its observers, in the order in which they are called.
pub(crate) struct Parts<'r> {
    /// The source.
    pub(crate) source: Box<dyn Source + 'r>,
    /// The observers.
    pub(crate) observers: Vec<Box<dyn Observer + 'r>>,
}

/// Yields the readings of one phase. Dropping it ends everything that it has started.
///
/// The engine calls `set_up` and `start`, then `on_wake` and `read` until `has_ended`, and then `finish` and a last
/// `read`. The reasons that `on_wake`, `read` and `kill` return invalidate the phase.
pub trait Source {
    /// Starts the measuring threads or programs, and returns once they wait for the common start.
    ///
    /// # Errors
    /// A message for the user.
    fn set_up(&mut self, supervisor: &mut Supervisor<'_>) -> Result<Ready, String>;

    /// Time between the decision to start and the common start, in ns.
    fn start_delay_ns(&self) -> u64 {
        0
    }

    /// Uncounted time after the common start, in ns; `planned_ns` is the plan's warm-up.
    fn warmup_ns(&self, planned_ns: u64) -> u64 {
        planned_ns
    }

    /// When the thread that is measured on `cpu` wakes up after a common start at `start_ns` on the monotonic clock. `None` if
    /// there is none, or if its wake-ups are not regular.
    fn wakes_on(&self, _cpu: u32, _start_ns: u64) -> Option<WakeTimes> {
        None
    }

    /// Starts the measurement.
    ///
    /// # Errors
    /// A message for the user.
    fn start(&mut self, counted: Counted) -> Result<(), String>;

    /// The descriptors that the supervisor waits for.
    fn descriptors(&self) -> Vec<RawFd> {
        Vec::new()
    }

    /// The longest time that the supervisor may wait before it calls [`Self::on_wake`], in ns.
    fn wait_ns(&self) -> u64 {
        u64::MAX
    }

    /// Called whenever the supervisor wakes; `readable` has an entry for each of the descriptors.
    fn on_wake(&mut self, _readable: &[bool]) -> Vec<Reason> {
        Vec::new()
    }

    /// Reads the measurements: called once per second, and a last time after [`Self::finish`].
    fn read(&mut self, _reading: &Reading<'_>) -> Vec<Reason> {
        Vec::new()
    }

    /// Whether nothing more will be measured.
    fn has_ended(&self) -> bool;

    /// Asks the source to end.
    fn stop(&mut self);

    /// The longest time from [`Self::stop`] to the end, in ns. The engine kills a source that takes longer.
    fn stop_patience_ns(&self) -> u64;

    /// Ends the source at once.
    fn kill(&mut self, reason: KillReason) -> Vec<Reason>;

    /// Ends everything that was started and takes the final numbers.
    fn finish(&mut self) -> Finished;

    /// The progress so far.
    fn progress(&self) -> SourceProgress;

    /// The series of the phase so far.
    fn series(&self) -> Vec<Series>;

    /// The numbers of each series so far, for a listener that shows them.
    fn live(&self) -> Vec<LiveSeries> {
        self.series().into_iter().map(LiveSeries::of).collect()
    }

    /// Adds data that belong to the run as a whole.
    fn add_to_run(&self, _run: &mut Run) {}

    /// CPU time, page faults and switches of the measuring threads, after they have ended.
    fn costs(&self) -> Vec<ThreadCost> {
        Vec::new()
    }

    /// Whether an invalid phase may have no series. Otherwise, this is an error that ends the run.
    fn may_lack_series(&self) -> bool {
        false
    }
}

/// The state of a source that waits for the common start.
#[derive(Debug, Default)]
pub struct Ready {
    /// Remarks for the phase's record and the user, such as refused requests.
    pub remarks: Vec<String>,
    /// Kernel ids of the measuring threads.
    pub tids: Vec<u32>,
    /// How they are scheduled.
    pub granted: Vec<Granted>,
}

/// Why a source is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillReason {
    /// The user interrupted twice.
    InterruptedTwice,
    /// The source did not end when asked.
    Unresponsive,
}

/// The report of a source that has ended.
#[derive(Debug, Default)]
pub struct Finished {
    /// Remarks for the phase's record.
    pub remarks: Vec<String>,
    /// Reasons that invalidate the phase.
    pub reasons: Vec<Reason>,
}
