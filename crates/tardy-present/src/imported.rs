//! What is said of a phase that another tool measured.

use tardy_analyse::findings::PhaseFindings;
use tardy_record::Run;
use tardy_record::units::format_duration_ns;

use crate::latency::harmless;

/// Which tool, how often, and as what: `cyclictest 2.40 every 200us, SCHED_FIFO 90`.
pub(crate) fn title(run: &Run, phase: &PhaseFindings) -> Option<String> {
    let plan = run.plan.phases.get(phase.phase)?.probe.foreign()?;
    let mut title = harmless(&plan.tool);
    if let Some(version) = plan.version.known() {
        title.push_str(&format!(" {}", harmless(version)));
    }
    if let Some(period_ns) = plan.period_ns.get() {
        title.push_str(&format!(" every {}", format_duration_ns(period_ns)));
    }
    let mut scheduling: Vec<String> = phase
        .series
        .iter()
        .filter_map(|index| run.series.get(*index)?.foreign())
        .filter_map(|foreign| {
            let policy = foreign.policy.get()?;
            let priority = foreign.priority.get().filter(|_| policy.has_priority());
            let priority = priority.map_or_else(String::new, |priority| format!(" {priority}"));
            Some(format!("SCHED_{}{priority}", policy.name().to_uppercase()))
        })
        .collect();
    scheduling.dedup();
    match scheduling.as_slice() {
        [] => {}
        [one] => title.push_str(&format!(", {one}")),
        [first, ..] => title.push_str(&format!(", {first} and others")),
    }
    Some(title)
}
