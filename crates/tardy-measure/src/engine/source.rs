//! What yields the readings of a phase, and what makes it from the phase's plan.

use std::os::fd::RawFd;
use std::rc::Rc;

use tardy_probe::order::Granted;
use tardy_record::Run;
use tardy_record::plan::PhasePlan;
use tardy_record::self_cost::ThreadCost;
use tardy_record::series::Series;

use super::clock::Clock;
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

/// What a source is made from.
#[derive(Clone)]
pub(crate) struct PhaseContext<'r> {
    /// The run's request.
    pub(crate) request: &'r Request,
    /// Index of the phase.
    pub(crate) index: usize,
    /// Its plan.
    pub(crate) plan: &'r PhasePlan,
    /// Its map.
    pub(crate) map: Rc<PhaseMap>,
    /// The run's clock.
    pub(crate) clock: Rc<dyn Clock>,
}

/// A source and the observers that watch next to it, in the order in which they are called.
pub(crate) struct Parts<'r> {
    /// The source.
    pub(crate) source: Box<dyn Source + 'r>,
    /// The observers.
    pub(crate) observers: Vec<Box<dyn Observer + 'r>>,
}

/// Yields the readings of one phase. Dropping it ends whatever it has started.
///
/// The engine calls `set_up`, `start`, then `on_wake` and `read` until it `has_ended`, and then `finish` and a last `read`. Reasons that it
/// returns invalidate the phase.
pub(crate) trait Source {
    /// Starts what measures, and returns once it waits for the common start.
    ///
    /// # Errors
    /// A message for the user.
    fn set_up(&mut self, supervisor: &mut Supervisor<'_>) -> Result<Ready, String>;

    /// Time between the decision to start and the common start, in ns.
    fn start_delay_ns(&self) -> u64 {
        0
    }

    /// Time after the common start in which nothing is counted, in ns, for a plan that has `planned_ns` of it.
    fn warmup_ns(&self, planned_ns: u64) -> u64 {
        planned_ns
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

    /// For how long the supervisor may wait, in ns.
    fn wait_ns(&self) -> u64 {
        u64::MAX
    }

    /// The supervisor woke; `readable` has an entry for each of the descriptors.
    fn on_wake(&mut self, _readable: &[bool]) -> Vec<String> {
        Vec::new()
    }

    /// Takes what has been measured: once per second, and a last time after [`Self::finish`].
    fn read(&mut self, _reading: &Reading<'_>) -> Vec<String> {
        Vec::new()
    }

    /// Whether nothing more will be measured.
    fn has_ended(&self) -> bool;

    /// Asks it to end.
    fn stop(&mut self);

    /// How long it may take to end after [`Self::stop`], in ns.
    fn stop_patience_ns(&self) -> u64;

    /// Ends it at once.
    fn kill(&mut self, reason: KillReason) -> Vec<String>;

    /// Ends what has been started and takes the final numbers.
    fn finish(&mut self) -> Finished;

    /// How far it is.
    fn progress(&self) -> SourceProgress;

    /// The series of the phase so far.
    fn series(&self) -> Vec<Series>;

    /// Adds what belongs to the run as a whole.
    fn add_to_run(&self, _run: &mut Run) {}

    /// What the measuring threads cost, after they have ended.
    fn costs(&self) -> Vec<ThreadCost> {
        Vec::new()
    }

    /// Whether an invalid phase without any series is a result, and not an error that ends the run.
    fn may_lack_series(&self) -> bool {
        false
    }
}

/// A source that waits for the common start.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// What was refused or is otherwise notable; for the phase's record and the user.
    pub(crate) remarks: Vec<String>,
    /// Kernel ids of the measuring threads.
    pub(crate) tids: Vec<u32>,
    /// How they are scheduled.
    pub(crate) granted: Vec<Granted>,
}

/// Why a source is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillReason {
    /// The user interrupted twice.
    InterruptedTwice,
    /// It did not end when asked.
    Unresponsive,
}

/// What a source reports when it has ended.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// Remarks for the phase's record.
    pub(crate) remarks: Vec<String>,
    /// Reasons that invalidate the phase.
    pub(crate) reasons: Vec<String>,
}
