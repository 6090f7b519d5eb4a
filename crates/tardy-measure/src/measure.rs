//! Chooses the source and the observers of a phase by its plan.

use std::rc::Rc;

use tardy_record::plan::{PhasePlan, ProbePlan};
use tardy_record::wiggle::{Pace, WigglePlan};

use crate::engine::{
    self, Listener, MapLayout, Observer, Outcome, Outside, Parts, PhaseContext, Request, RunError, Sources,
};
use crate::observers::causes::Causes;
use crate::observers::echo::Echo;
use crate::observers::levels::Levels;
use crate::observers::pin_guard::GuardedPins;
use crate::observers::samples::SampleDrain;
use crate::observers::wire::Wire;
use crate::sources::kernel_tracer::KernelTracer;
use crate::sources::other_program::OtherProgram;
use crate::sources::own_probe::{OwnProbe, ProbeSetup, ProbeState, keeps_log, setup_of};
use crate::sources::switch_test::{SwitchSource, SwitchTest};
use crate::sources::wiggle_program::WiggleProgram;

/// Runs a plan: measures phase by phase, keeps the run file current, and seals it at the end.
///
/// # Errors
/// If a file cannot be written, or nothing could be measured. No file is left then.
pub fn run(request: &Request, listener: &mut dyn Listener) -> Result<Outcome, RunError> {
    engine::run(request, &Table { switch: None }, Outside::of(request)?, listener)
}

/// Runs a plan whose phases test a switch, as [`run`] does for other plans.
///
/// # Errors
/// As [`run`].
pub fn test_switch(
    request: &Request,
    test: &SwitchTest<'_>,
    listener: &mut dyn Listener,
) -> Result<Outcome, RunError> {
    engine::run(request, &Table { switch: Some(test) }, Outside::of(request)?, listener)
}

/// Makes the source and the observers for each kind of phase.
struct Table<'r, 'f> {
    switch: Option<&'r SwitchTest<'f>>,
}

impl<'r, 'f: 'r> Sources<'r> for Table<'r, 'f> {
    fn map_layout(&self, request: &Request, plan: &PhasePlan) -> MapLayout {
        let setup = setup_of(plan, request.fake.is_some());
        setup.map_or(MapLayout::EMPTY, |setup| setup.map_layout(request))
    }

    fn make(&self, context: PhaseContext<'r>) -> Result<Parts<'r>, String> {
        if let Some(setup) = setup_of(context.plan, context.request.fake.is_some()) {
            return Ok(own_probe(context, setup));
        }
        match &context.plan.probe {
            ProbePlan::Tracer(plan) => Ok(alone(KernelTracer::new(context.clone(), plan))),
            ProbePlan::Foreign(plan) => Ok(alone(OtherProgram::new(context.clone(), plan))),
            ProbePlan::Wiggle(plan) => wiggle_program(context.clone(), plan),
            ProbePlan::Switch(plan) => {
                let test = self.switch.ok_or("a switch is tested by 'tardy tsn test'")?;
                Ok(alone(SwitchSource::new(context.clone(), test, plan.shaped)))
            }
            ProbePlan::Timer(_) | ProbePlan::Kernel(_) | ProbePlan::Noise(_) | ProbePlan::Reaction(_) => {
                Err("the plan has no probe; please report it".to_owned())
            }
        }
    }
}

fn alone<'r>(source: impl engine::Source + 'r) -> Parts<'r> {
    Parts { source: Box::new(source), observers: Vec::new() }
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

/// A program that wiggles the pin, and the observer that reads the echo.
fn wiggle_program<'r>(context: PhaseContext<'r>, plan: &'r WigglePlan) -> Result<Parts<'r>, String> {
    let (Pace::Command { words }, Some(line)) = (&plan.pace, &plan.echo) else {
        return Err("the plan names no program or no echo; please report it".to_owned());
    };
    let echo = Echo::new(context.clone(), line, false);
    let pins = GuardedPins::new(context.clone());
    Ok(Parts {
        source: Box::new(WiggleProgram::new(context, words)),
        observers: vec![Box::new(echo), Box::new(pins)],
    })
}
