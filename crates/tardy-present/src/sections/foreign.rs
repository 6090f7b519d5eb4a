//! Phases from the imported file of another tool.

use std::collections::BTreeSet;

use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, ProbeKind};
use tardy_record::units::format_duration_ns;

use super::phase_terms::{PhaseWords, scheduling};
use crate::section::{Measurement, Planned, Section};
use tardy_plot::numbers::{harmless, short};

/// Measurements of another tool.
pub struct Foreign;

impl Section for Foreign {
    fn name(&self) -> &'static str {
        "foreign"
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }
}

impl Measurement for Foreign {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        probe == ProbeKind::Foreign
    }

    fn describes(&self, readings: Readings) -> bool {
        readings == Readings::Samples
    }

    /// The tool, the periods of its threads and the scheduling: `cyclictest 2.40 every 200us, SCHED_FIFO 90`.
    fn method(&self, run: &Run, phase: &PhaseFindings, _labelled: bool) -> Option<String> {
        let plan = run.plan.phases.get(phase.phase)?.probe.foreign()?;
        let threads = || phase.series.iter().filter_map(|index| run.series.get(*index)?.foreign());
        let mut method = harmless(&plan.tool);
        if let Some(version) = plan.version.known() {
            method.push_str(&format!(" {}", harmless(version)));
        }
        let of_threads: BTreeSet<u64> = threads().filter_map(|thread| thread.interval_ns.get()).collect();
        let intervals: Vec<String> = match of_threads.len() {
            0 | 1 => plan.period_ns.get().into_iter().map(format_duration_ns).collect(),
            _ => of_threads.into_iter().map(format_duration_ns).collect(),
        };
        match &intervals[..] {
            [] => {}
            [one] => method.push_str(&format!(" every {one}")),
            [one, other] => method.push_str(&format!(" every {one} and {other}")),
            [shortest, .., longest] => method.push_str(&format!(" every {shortest} to {longest}")),
        }
        let mut known: Vec<String> = threads()
            .filter_map(|foreign| {
                let policy = foreign.policy.get()?;
                match foreign.priority.get() {
                    Some(priority) => Some(scheduling(policy, priority)),
                    None => Some(format!("SCHED_{}", policy.name().to_uppercase())),
                }
            })
            .collect();
        known.dedup();
        match known.as_slice() {
            [] => {}
            [one] => method.push_str(&format!(", {one}")),
            [first, ..] => method.push_str(&format!(", {first} and others")),
        }
        Some(method)
    }

    fn sentence(&self, phase: &PhaseFindings) -> Option<String> {
        let PhaseWords { max, readings, over, under, on, threads, .. } = PhaseWords::of(phase, "thread")?;
        Some(format!("In {readings}{over} on {threads} {under}, the longest noise took {max}{on}."))
    }

    fn no_limit_because(&self) -> Option<&'static str> {
        Some("noise is how long a CPU was taken away, not how late a wake-up was")
    }

    fn planned(&self, plan: &PhasePlan) -> Planned {
        let foreign = plan.probe.foreign();
        Planned {
            wake: foreign.map_or_else(String::new, |foreign| short(&harmless(&foreign.tool), 40)),
            intervals_ns: foreign.and_then(|foreign| foreign.period_ns.get()).into_iter().collect(),
            ..Planned::default()
        }
    }
}
