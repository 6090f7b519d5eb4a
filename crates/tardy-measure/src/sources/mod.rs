//! The sources of readings, and which of them measures a phase.
//!
//! To add a source, write a file with a type that implements [`Source`], and add it to [`source_of`]. Measurements of the
//! threads in tardy-probe are in another table, [`own_probe::setup_of`].

pub(crate) mod kernel_tracer;
pub(crate) mod other_program;
pub(crate) mod own_probe;
mod program;
mod round_trip;
mod synthetic_tracer;
mod tracer_series;
pub(crate) mod wiggle_program;

use tardy_record::plan::ProbePlan;
use tardy_record::wiggle::Pace;

use crate::engine::{PhaseContext, Source};
use kernel_tracer::KernelTracer;
use other_program::OtherProgram;
use round_trip::RoundTripSource;
use wiggle_program::WiggleProgram;

/// Makes the source of a phase; `Ok(None)` if it does not know the phase's probe either. An error is a message for the user.
pub type OtherSources<'r, 'f> =
    dyn Fn(&PhaseContext<'r>) -> Result<Option<Box<dyn Source + 'r>>, String> + 'f;

/// The source of a phase that tardy's own probe does not measure. `other` makes those that this crate does not know.
///
/// # Errors
/// A message for the user, if the plan lacks what its source needs.
pub(crate) fn source_of<'r>(
    context: PhaseContext<'r>,
    other: &OtherSources<'r, '_>,
) -> Result<Box<dyn Source + 'r>, String> {
    if let Some(source) = other(&context)? {
        return Ok(source);
    }
    Ok(match &context.plan.probe {
        ProbePlan::Tracer(plan) => Box::new(KernelTracer::new(context.clone(), plan)),
        ProbePlan::Foreign(plan) => Box::new(OtherProgram::new(context.clone(), plan)),
        ProbePlan::Wiggle(plan) => match (&plan.pace, &plan.echo) {
            (Pace::Command { words }, Some(_)) => Box::new(WiggleProgram::new(context.clone(), words)),
            _ => return Err("the plan names no program or no echo; please report it".to_owned()),
        },
        ProbePlan::Switch(_) => return Err("a switch is tested by 'tardy tsn test'".to_owned()),
        ProbePlan::RoundTrip(plan) => Box::new(RoundTripSource::new(context.clone(), plan)),
        ProbePlan::Program(_) => return Err("a program is watched by 'tardy attach'".to_owned()),
        ProbePlan::Timer(_) | ProbePlan::Kernel(_) | ProbePlan::Noise(_) | ProbePlan::Reaction(_) => {
            return Err("the plan has no probe; please report it".to_owned());
        }
    })
}
