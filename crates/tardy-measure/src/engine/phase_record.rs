//! The record of a phase: its beginning, its progress, the reasons that invalidate it, its end.

use tardy_record::event::EventKind;
use tardy_record::plan::PhasePlan;
use tardy_record::reason::Reason;
use tardy_record::run::Phase;

use super::listener::RunProgress;
use super::reading::SourceProgress;
use super::supervisor::Supervisor;

impl Supervisor<'_> {
    /// Records that phase `plan` has begun. The caller then writes the run, since recovery needs the phase in the file.
    pub(super) fn begin_phase(&mut self, plan: &PhasePlan, remarks: Vec<String>) {
        for remark in &remarks {
            if !self.run.phases.iter().any(|phase| phase.remarks.contains(remark)) {
                self.message(remark);
            }
        }
        let (label, start_ns) = (plan.label.clone(), self.clock.now_ns());
        self.note(EventKind::Phase, &format!("phase '{label}' begins"), 0);
        self.run.phases.push(Phase { label, start_ns, end_ns: None, remarks, spoilt_by: Vec::new() });
    }

    /// Reports to the listener how far phase `index` is.
    pub(super) fn report(&mut self, index: usize, progress: &SourceProgress) {
        let plan = &self.request.plan.phases[index];
        self.listener.progress(&RunProgress {
            phase: &plan.label,
            number: index + 1,
            of: self.request.plan.phases.len(),
            counted_ns: progress.counted_ns,
            planned_ns: plan.planned_ns(),
            worst: progress.worst,
            missed: progress.missed,
        });
    }

    /// Records that `reason` invalidates phase `index`, and reports it once.
    pub(super) fn invalidate(&mut self, index: usize, reason: Reason) {
        let reasons = &mut self.run.phases[index].spoilt_by;
        if !reasons.contains(&reason) {
            self.listener.message(&reason.to_string());
            reasons.push(reason);
        }
    }

    /// Adds remarks to the record of phase `index`.
    pub(super) fn remark(&mut self, index: usize, remarks: Vec<String>) {
        self.run.phases[index].remarks.extend(remarks);
    }

    /// Whether phase `index` is valid. A phase that has not begun is.
    pub(crate) fn is_valid(&self, index: usize) -> bool {
        self.run.phases.get(index).is_none_or(|phase| phase.spoilt_by.is_empty())
    }

    /// Records that phase `index` has ended, and writes the run, which contains its series.
    pub(super) fn end_phase(&mut self, index: usize) {
        let text = format!("phase '{}' ends", self.run.phases[index].label);
        self.note(EventKind::Phase, &text, 0);
        self.checkpoint();
    }
}
