//! Runs a plan: gives the engine the source and the observers of each phase.

use std::rc::Rc;

use tardy_record::plan::{PhasePlan, ProbePlan};
use tardy_record::wiggle::WigglePlan;

use crate::engine::{
    self, Listener, MapLayout, Observer, Outcome, Outside, Parts, PhaseContext, Request, RunError, Sources,
};
use crate::observers::causes::Causes;
use crate::observers::echo::Echo;
use crate::observers::levels::Levels;
use crate::observers::pin_guard::GuardedPins;
use crate::observers::samples::SampleDrain;
use crate::observers::wire::Wire;
use crate::sources::own_probe::{OwnProbe, ProbeSetup, ProbeState, keeps_log, setup_of};
use crate::sources::{OtherSources, source_of};

/// Runs a plan: measures phase by phase, keeps the run file current, and seals it at the end.
///
/// # Errors
/// If a file cannot be written, or nothing could be measured. No file is left then.
pub fn run(request: &Request, listener: &mut dyn Listener) -> Result<Outcome, RunError> {
    run_with(request, &|_| Ok(None), listener)
}

/// Runs a plan, as [`run`] does, with phases that this crate cannot measure: `other` makes their sources.
///
/// # Errors
/// As [`run`].
pub fn run_with<'r>(
    request: &'r Request,
    other: &OtherSources<'r, '_>,
    listener: &'r mut dyn Listener,
) -> Result<Outcome, RunError> {
    engine::run(request, &Table { other }, Outside::of(request)?, listener)
}

/// Makes the source and the observers for each kind of phase.
struct Table<'r, 'f> {
    other: &'f OtherSources<'r, 'f>,
}

impl<'r> Sources<'r> for Table<'r, '_> {
    fn map_layout(&self, request: &Request, plan: &PhasePlan) -> MapLayout {
        let setup = setup_of(plan, request.fake.is_some());
        setup.map_or(MapLayout::EMPTY, |setup| setup.map_layout(request))
    }

    fn make(&self, context: PhaseContext<'r>) -> Result<Parts<'r>, String> {
        if let Some(setup) = setup_of(context.plan, context.request.fake.is_some()) {
            return Ok(own_probe(context, setup));
        }
        let observers = observers_of_program(&context);
        Ok(Parts { source: source_of(context, self.other)?, observers })
    }
}

/// tardy's own probe, with the observers of its threads, its trace and its pins.
fn own_probe<'r>(context: PhaseContext<'r>, setup: ProbeSetup<'r>) -> Parts<'r> {
    let state = Rc::new(ProbeState::new(&context, &setup));
    let observers = observers(&context, &state);
    Parts { source: Box::new(OwnProbe::new(context, setup, state)), observers }
}

fn observers<'r>(context: &PhaseContext<'r>, state: &Rc<ProbeState<'r>>) -> Vec<Box<dyn Observer + 'r>> {
    let (request, probe) = (context.request, &context.plan.probe);
    let shared = || (context.clone(), Rc::clone(state));
    let mut observers: Vec<Box<dyn Observer + 'r>> = Vec::new();
    if let Some(timer) = probe.timer()
        && let Some(causes) = timer.causes
    {
        let (context, state) = shared();
        observers.push(Box::new(Causes::new(context, state, timer, causes)));
    }
    if let ProbePlan::Kernel(kernel) = probe {
        let (context, state) = shared();
        observers.push(Box::new(Levels::new(context, state, kernel)));
    }
    if let ProbePlan::Reaction(reaction) = probe
        && keeps_log(reaction)
        && request.fake.is_none()
    {
        let (context, state) = shared();
        observers.push(Box::new(Wire::new(context, state, reaction)));
    }
    if let ProbePlan::Wiggle(WigglePlan { echo: Some(line), .. }) = probe {
        observers.push(Box::new(Echo::new(context.clone(), line, true)));
    }
    if let ProbePlan::Reaction(_) | ProbePlan::Wiggle(_) = probe {
        observers.push(Box::new(GuardedPins::new(context.clone())));
    }
    if let Some(timer) = probe.timer().filter(|_| request.takes_samples()) {
        let (context, state) = shared();
        observers.push(Box::new(SampleDrain::new(context, state, timer)));
    }
    observers
}

/// The observers of a source other than tardy's own probe: if it toggles a pin, those that read its echo and guard it.
fn observers_of_program<'r>(context: &PhaseContext<'r>) -> Vec<Box<dyn Observer + 'r>> {
    match &context.plan.probe {
        ProbePlan::Wiggle(WigglePlan { echo: Some(line), .. }) => vec![
            Box::new(Echo::new(context.clone(), line, false)),
            Box::new(GuardedPins::new(context.clone())),
        ],
        _ => Vec::new(),
    }
}
