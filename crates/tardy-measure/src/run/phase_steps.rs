//! What every kind of phase does alike: beginning, saying how far it is, being spoilt, giving pins back, ending.

use tardy_record::event::EventKind;
use tardy_record::plan::PhasePlan;
use tardy_record::run::Phase;

use super::house::House;
use super::observer::Standing;
use crate::pins::PinGuard;

impl House<'_> {
    /// Phase `plan` has begun at `start_ns`: notes it and writes the run, so that whoever recovers it finds the phase.
    pub(super) fn begin_phase(&mut self, plan: &PhasePlan, start_ns: u64, remarks: Vec<String>) {
        let label = plan.label.clone();
        self.note(EventKind::Phase, &format!("phase '{label}' begins"), 0);
        self.run.phases.push(Phase { label, start_ns, end_ns: None, remarks, spoilt_by: Vec::new() });
        self.checkpoint();
    }

    /// Tells the observer how far phase `index` is, which has counted for `counted_ns`.
    pub(super) fn report(&mut self, index: usize, counted_ns: u64, worst: Option<(i64, u32)>, missed: u64) {
        let plan = &self.request.plan.phases[index];
        self.observer.progress(&Standing {
            phase: &plan.label,
            number: index + 1,
            of: self.request.plan.phases.len(),
            counted_ns,
            planned_ns: plan.planned_ns(),
            worst,
            missed,
        });
    }

    /// Says what spoils phase `index`, once.
    pub(super) fn spoil(&mut self, index: usize, reason: String) {
        let spoilt_by = &mut self.run.phases[index].spoilt_by;
        if !spoilt_by.contains(&reason) {
            self.observer.say(&reason);
            spoilt_by.push(reason);
        }
    }

    /// Gives a phase's pins back; of what stays changed it warns.
    pub(super) fn give_back(&mut self, guard: Option<PinGuard>) {
        if let Err(reason) = guard.map_or(Ok(()), PinGuard::release) {
            let warning = format!("{reason}; run `tardy restore`");
            self.observer.say(&warning);
            self.note(EventKind::Warning, &warning, 0);
        }
    }

    /// Phase `index` has ended, and its series are in the run: notes it and writes the run.
    pub(super) fn end_phase(&mut self, index: usize) {
        let text = format!("phase '{}' ends", self.run.phases[index].label);
        self.note(EventKind::Phase, &text, 0);
        self.checkpoint();
    }
}
