//! Wake-ups of timer threads, with or without the kernel's events.

use tardy_analyse::name::{self, Readings};
use tardy_analyse::phases::PhaseFindings;
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, ProbeKind, Wake};
use tardy_record::units::format_duration_ns;

use super::phase_terms::{PhaseWords, planned_timer, scheduling};
use crate::section::{Context, Measurement, Planned, Section};

const UNPINNED: &str =
    "An unpinned thread migrates between CPUs: its row is of the thread, not of a single CPU.";
const DEADLINE: &str = "deadline: the kernel does not report when a period begins; tardy infers it from the earliest \
                        wake-ups. Latencies are relative to the inferred phase; negative (early) ones mean that the \
                        inference was off. Dropped cycles are those spent on inferring the period again after a stall.";

/// Wake-ups of timer threads.
pub struct Timer;

impl Section for Timer {
    fn name(&self) -> &'static str {
        "timer"
    }

    fn notes(&self, context: &Context<'_>) -> Vec<String> {
        let recorded = || context.run.series.iter().filter(|series| series.tally.recorded > 0);
        let mut notes = Vec::new();
        if recorded().any(name::is_unpinned) {
            notes.push(UNPINNED.to_owned());
        }
        if recorded().any(|series| series.timer().is_some_and(|timer| timer.wake == Wake::Deadline)) {
            notes.push(DEADLINE.to_owned());
        }
        notes
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }
}

impl Measurement for Timer {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        matches!(probe, ProbeKind::Timer | ProbeKind::Kernel)
    }

    fn describes(&self, readings: Readings) -> bool {
        readings == Readings::WakeUps
    }

    fn method(&self, run: &Run, phase: &PhaseFindings, labelled: bool) -> Option<String> {
        let timers = phase.series.iter().filter_map(|index| run.series[*index].timer());
        let mut methods: Vec<String> = timers
            .map(|timer| {
                let every = format_duration_ns(timer.interval_ns);
                // If there are several phases, their labels often contain the wake method.
                let is_named = labelled && phase.label.contains(timer.wake.name());
                let wake = if is_named { "" } else { timer.wake.name() };
                let scheduling = scheduling(timer.policy, timer.priority);
                format!("{wake} every {every}, {scheduling}").trim_start().to_owned()
            })
            .collect();
        methods.dedup();
        match methods.as_slice() {
            [] => phase.wake.map(|wake| wake.name().to_owned()),
            [one] => Some(one.clone()),
            [first, ..] => Some(format!("{first} and others")),
        }
    }

    fn sentence(&self, phase: &PhaseFindings) -> Option<String> {
        // Files of other tools do not state whether a thread was pinned.
        let is_known = !matches!(phase.probe, Some(ProbeKind::Foreign | ProbeKind::Program));
        let thread = if !is_known { "thread" } else { "unpinned thread" };
        let words = PhaseWords::of(phase, thread)?;
        let body = words.body().map_or_else(String::new, |(share, value)| {
            format!("; all but {share} were less than {value} late")
        });
        let PhaseWords { max, readings, over, under, on, threads, .. } = words;
        Some(format!("In {readings}{over} on {threads} {under}, the latest was {max} late{on}{body}."))
    }

    fn planned(&self, plan: &PhasePlan) -> Planned {
        planned_timer(plan)
    }
}
