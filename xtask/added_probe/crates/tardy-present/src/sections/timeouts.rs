//! Phases in which the timeouts of poll(2) were measured.

use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, ProbeKind, ProbePlan};
use tardy_record::units::format_duration_ns;

use super::phase_terms::PhaseWords;
use crate::section::{Measurement, Planned, Section};

/// Timeouts of poll(2).
pub struct Timeouts;

impl Section for Timeouts {
    fn name(&self) -> &'static str {
        "timeouts"
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }
}

impl Measurement for Timeouts {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        probe == ProbeKind::Timeout
    }

    /// Never: a timeout is a wake-up, which the section about timers describes.
    fn describes(&self, _readings: Readings) -> bool {
        false
    }

    fn method(&self, _run: &Run, phase: &PhaseFindings, _labelled: bool) -> Option<String> {
        Some(format!("poll(2) every {}", format_duration_ns(phase.period_ns?)))
    }

    fn sentence(&self, phase: &PhaseFindings) -> Option<String> {
        let PhaseWords { max, count, over, under, .. } = PhaseWords::of(phase, "thread")?;
        Some(format!("In {count} timeouts{over} {under}, poll(2) returned at most {max} late."))
    }

    fn planned(&self, plan: &PhasePlan) -> Planned {
        let mut planned = Planned { wake: plan.probe.name().to_owned(), ..Planned::default() };
        if let ProbePlan::Timeout(timeout) = &plan.probe {
            planned.intervals_ns = vec![timeout.period_ns];
        }
        planned
    }
}
