//! Phases that were measured by one of the kernel's latency tracers.

use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, ProbeKind, ProbePlan};
use tardy_record::units::format_duration_ns;

use super::phase_terms::PhaseWords;
use crate::section::{Measurement, Planned, Section};

/// The kernel's tracers.
pub struct Tracer;

impl Section for Tracer {
    fn name(&self) -> &'static str {
        "tracer"
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }
}

impl Measurement for Tracer {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        matches!(probe, ProbeKind::Tracer(_))
    }

    fn describes(&self, readings: Readings) -> bool {
        readings == Readings::Periods
    }

    fn method(&self, _run: &Run, phase: &PhaseFindings, labelled: bool) -> Option<String> {
        let name = phase.probe?.name();
        let name = if labelled && phase.label.contains(name) { "" } else { name };
        let every =
            phase.period_ns.map_or_else(String::new, |ns| format!(" every {}", format_duration_ns(ns)));
        Some(format!("{name}{every}").trim_start().to_owned()).filter(|text| !text.is_empty())
    }

    fn sentence(&self, phase: &PhaseFindings) -> Option<String> {
        let PhaseWords { max, readings, over, under, on, threads, .. } = PhaseWords::of(phase, "thread")?;
        Some(format!("In {readings}{over} on {threads} {under}, the noisiest lost {max}{on}."))
    }

    fn no_limit_because(&self) -> Option<&'static str> {
        Some("noise is how long a CPU was taken away, not how late a wake-up was")
    }

    fn planned(&self, plan: &PhasePlan) -> Planned {
        let mut planned = Planned { wake: plan.probe.name().to_owned(), ..Planned::default() };
        if let ProbePlan::Tracer(tracer) = &plan.probe {
            planned.priorities = tracer.priority.map(u64::from).into_iter().collect();
            planned.intervals_ns = vec![tracer.period_ns];
        }
        planned
    }
}
