//! Guards the pins of a phase: a guard process restores them even if this process is killed. Also starts a PWM
//! stimulus.

use tardy_host::gpio::pwm;
use tardy_record::event::EventKind;
use tardy_record::pins::{StimulusPlan, StimulusSource};
use tardy_record::plan::ProbePlan;
use tardy_sys::kernel_files::KernelFiles;

use crate::engine::{Observer, PhaseContext, Reading, Supervisor};
use crate::pins::{PinGuard, held_by};

/// Guards the pins of one phase.
pub(crate) struct GuardedPins<'r> {
    context: PhaseContext<'r>,
    guard: Option<PinGuard>,
}

impl<'r> GuardedPins<'r> {
    /// No pin is held yet.
    pub(crate) fn new(context: PhaseContext<'r>) -> Self {
        Self { context, guard: None }
    }
}

impl Observer for GuardedPins<'_> {
    fn prepare(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        if self.context.request.fake.is_some() {
            return Ok(());
        }
        let (probe, files) = (&self.context.plan.probe, KernelFiles::real());
        self.guard = Some(PinGuard::watch(&self.context.request.programs.own, &held_by(probe, &files)?)?);
        start_pwm(probe, &files)
    }

    /// Restores the pins, which the source has released.
    fn finish(&mut self, supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        if let Err(reason) = self.guard.take().map_or(Ok(()), PinGuard::release) {
            let warning = format!("{reason}; run `tardy restore`");
            supervisor.message(&warning);
            supervisor.note(EventKind::Warning, &warning, 0);
        }
        Ok(())
    }
}

fn start_pwm(probe: &ProbePlan, files: &KernelFiles) -> Result<(), String> {
    let ProbePlan::Reaction(reaction) = probe else { return Ok(()) };
    match reaction.stimulus.as_deref() {
        Some(StimulusPlan { source: StimulusSource::Pwm { chip, channel }, period_ns, .. }) => {
            pwm::start(files, chip, *channel, *period_ns)
        }
        _ => Ok(()),
    }
}
