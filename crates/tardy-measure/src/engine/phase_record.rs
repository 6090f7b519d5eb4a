//! The record of a phase: its beginning, its progress, the reasons that invalidate it, its end.

use tardy_record::event::{EventKind, MARK_COUNT};
use tardy_record::plan::PhasePlan;
use tardy_record::reason::Reason;
use tardy_record::run::Phase;
use tardy_sys::thread_usage;

use super::live::LiveState;
use super::progress::RunProgress;
use super::reading::SourceProgress;
use super::source::Source;
use super::supervisor::Supervisor;

impl Supervisor<'_> {
    /// Records that phase `plan` has begun. The caller then writes the run, since recovery needs the phase in the file.
    pub(super) fn begin_phase(&mut self, plan: &PhasePlan, remarks: Vec<String>) {
        for remark in &remarks {
            if !self.run.phases.iter().any(|phase| phase.remarks.contains(remark)) {
                self.listener.remark(remark);
            }
        }
        let (label, start_ns) = (plan.label.clone(), self.clock.now_ns());
        self.note(EventKind::Phase, &format!("phase '{label}' begins"), 0);
        self.run.phases.push(Phase { label, start_ns, remarks, ..Phase::default() });
    }

    /// Reports to the listener how far phase `index` is.
    pub(super) fn report(&mut self, index: usize, source: &dyn Source, is_ending: bool) {
        let plan = &self.request.plan.phases[index];
        let SourceProgress { counted_ns, worst, missed, .. } = source.progress();
        let progress = RunProgress {
            phase: &plan.label,
            number: index + 1,
            of: self.request.plan.phases.len(),
            counted_ns,
            planned_ns: plan.planned_ns(),
            worst,
            missed,
        };
        self.listener.progress(&progress);
        if self.listener.wants_live() {
            self.show_live(index, source, progress, is_ending);
        }
    }

    /// Gives the listener the state of phase `index`, and records what that costs.
    fn show_live(&mut self, index: usize, source: &dyn Source, progress: RunProgress<'_>, is_ending: bool) {
        let before = thread_usage::of_this_thread();
        let state = LiveState {
            progress,
            plan: &self.request.plan.phases[index],
            limit_ns: self.request.plan.limit_ns,
            now_ns: self.clock.now_ns(),
            series: source.live(),
            loads: self.loads.rates(),
            environment: self.watchers.latest(),
            marks: self.marks,
            is_valid: self.is_valid(index),
            is_ending,
            frame_cost_ns: self.live_cost.per_frame_ns(),
        };
        self.listener.live(&state);
        if let (Ok(before), Ok(after)) = (before, thread_usage::of_this_thread()) {
            self.live_cost.add(after.since(&before));
        }
    }

    /// Records that the user marked this moment.
    pub(super) fn mark(&mut self) {
        if self.marks >= MARK_COUNT {
            return;
        }
        self.marks += 1;
        let text = format!("mark {}", self.marks);
        self.note(EventKind::Mark, &text, 0);
        self.message(&text);
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
