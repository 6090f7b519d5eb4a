//! The test of a switch as a source of the phase engine: the talkers and listeners.
//!
//! Frames are counted in this process and not in the map. A killed run therefore loses the frames after its last
//! checkpoint, at most a minute's.

use std::cell::RefCell;

use tardy_measure::engine::{
    Counted, Finished, KillReason, Listener, Outcome, PhaseContext, Ready, Request, RunError, Source,
    SourceProgress, Supervisor,
};
use tardy_record::plan::ProbePlan;
use tardy_record::reason::Reason;
use tardy_record::{Run, Series};

use crate::experiment::{self, Followed, ObservedFrame, PhaseTimes, Test, TestPhase};

/// Time that talkers may take to stop, including the silence after them, in addition to two of their periods.
const STOP_GRACE_NS: u64 = 25_000_000_000;

/// Receives each frame, and whether its phase had the shaper.
pub type FrameReceiver<'f> = Box<dyn FnMut(bool, &ObservedFrame) + 'f>;

/// A test of a switch, and the receiver of its frames.
pub struct SwitchTest<'f> {
    /// The test.
    pub test: Test,
    /// Called for every frame after its phase has ended, if frames are kept.
    pub frames: RefCell<FrameReceiver<'f>>,
    /// What following the frames measured, or why it failed, once a phase with the shaper has ended.
    pub followed: RefCell<Option<Result<Followed, String>>>,
}

impl SwitchTest<'_> {
    /// What following the frames measured.
    ///
    /// # Errors
    /// A message for the user: why it is not known.
    pub fn followed(&self) -> Result<Followed, String> {
        let known = self.followed.take();
        known
            .unwrap_or_else(|| Err("the phase with the shaper did not end".to_owned()))
            .map_err(|reason| format!("the intervals cannot be measured: {reason}"))
    }
}

/// Runs a plan whose phases test a switch.
///
/// # Errors
/// As `tardy_measure::run`.
pub fn test_switch<'r>(
    request: &'r Request,
    test: &'r SwitchTest<'_>,
    listener: &'r mut dyn Listener,
) -> Result<Outcome, RunError> {
    let source = |context: &PhaseContext<'r>| -> Result<Option<Box<dyn Source + 'r>>, String> {
        let ProbePlan::Switch(plan) = &context.plan.probe else { return Ok(None) };
        Ok(Some(Box::new(SwitchSource::new(context.clone(), test, plan.shaped))))
    };
    tardy_measure::run_with(request, &source, listener)
}

/// The test in one phase.
struct SwitchSource<'r, 'f> {
    context: PhaseContext<'r>,
    switch: &'r SwitchTest<'f>,
    shaped: bool,
    /// Set once the network is up.
    phase: Option<TestPhase<'r>>,
    counted: Option<Counted>,
}

impl<'r, 'f> SwitchSource<'r, 'f> {
    /// The test with the shaper or without, before the network is up.
    fn new(context: PhaseContext<'r>, switch: &'r SwitchTest<'f>, shaped: bool) -> Self {
        Self { context, switch, shaped, phase: None, counted: None }
    }
}

impl Source for SwitchSource<'_, '_> {
    /// Builds a new network for each phase, so that frames queued in one phase do not arrive in the next.
    fn set_up(&mut self, supervisor: &mut Supervisor<'_>) -> Result<Ready, String> {
        let (test, label) = (&self.switch.test, &self.context.plan.label);
        let network = &test.network;
        if test.namespaces {
            let (switches, hosts) = (network.switches.len(), network.hosts.len());
            supervisor.message(&format!("{label}: building {switches} switches and {hosts} hosts"));
        }
        self.phase = Some(TestPhase::build(test, self.context.index, self.shaped)?);
        supervisor.message(&format!("{label}: sending {} flows", network.flows.len()));
        Ok(Ready::default())
    }

    fn start_delay_ns(&self) -> u64 {
        self.phase.as_ref().map_or(0, TestPhase::start_delay_ns)
    }

    fn start(&mut self, counted: Counted) -> Result<(), String> {
        let Counted { run_start_ns, from_ns, to_ns, .. } = counted;
        let id = format!("{}-{}", self.context.request.origin.id, self.context.index);
        self.counted = Some(counted);
        let phase = self.phase.as_mut().ok_or("the network is not up")?;
        phase.begin(PhaseTimes { run_start_ns, from_ns, to_ns }, &id)
    }

    fn wait_ns(&self) -> u64 {
        self.phase.as_ref().map_or(0, TestPhase::wait_ns)
    }

    fn on_wake(&mut self, _readable: &[bool]) -> Vec<Reason> {
        self.phase.iter_mut().for_each(TestPhase::step);
        Vec::new()
    }

    fn has_ended(&self) -> bool {
        self.phase.as_ref().is_none_or(TestPhase::has_ended)
    }

    fn stop(&mut self) {
        self.phase.iter_mut().for_each(TestPhase::stop);
    }

    fn stop_patience_ns(&self) -> u64 {
        STOP_GRACE_NS + 2 * self.context.plan.probe.longest_interval_ns()
    }

    fn kill(&mut self, reason: KillReason) -> Vec<Reason> {
        self.phase.iter_mut().for_each(TestPhase::end);
        match reason {
            KillReason::InterruptedTwice => Vec::new(),
            KillReason::Unresponsive => vec![Reason::TalkersUnresponsive],
        }
    }

    fn finish(&mut self) -> Finished {
        let outcome = self.phase.as_mut().map(TestPhase::finish).unwrap_or_default();
        let mut receive = self.switch.frames.borrow_mut();
        outcome.frames.iter().for_each(|frame| receive(self.shaped, frame));
        if outcome.followed.is_some() {
            *self.switch.followed.borrow_mut() = outcome.followed;
        }
        Finished { remarks: outcome.remarks, reasons: outcome.invalid_because }
    }

    fn progress(&self) -> SourceProgress {
        let (Some(phase), Some(counted)) = (&self.phase, &self.counted) else {
            return SourceProgress::default();
        };
        let (from_ns, counted_ns) = (counted.counted_from_ns(), phase.counted_ns());
        SourceProgress {
            counted_from_ns: Some(from_ns),
            counted_to_ns: Some(from_ns + counted_ns),
            counted_ns,
            ..SourceProgress::default()
        }
    }

    fn series(&self) -> Vec<Series> {
        self.phase.as_ref().map(TestPhase::series).unwrap_or_default()
    }

    fn add_to_run(&self, run: &mut Run) {
        let record = run.switch.get_or_insert_with(|| self.switch.test.record());
        if let Some(phase) = &self.phase {
            experiment::add_to_record(record, phase.schedules(), phase.remarks());
        }
    }
}
