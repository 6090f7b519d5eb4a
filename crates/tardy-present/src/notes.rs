//! What a reader must know beside the numbers of one run: the same notes in the terminal and in the report.

use tardy_analyse::findings::Findings;
use tardy_analyse::stops::{self, StoppedBy, Stops};
use tardy_record::plan::Wake;
use tardy_record::units::format_duration_ns;
use tardy_record::{Run, Series};

use crate::latency::with_unit;
use crate::{captures, noise, sentence};

const UNPINNED: &str =
    "An unpinned thread roams over the CPUs: its row is of the thread, not of any one CPU.";
const DEADLINE: &str = "deadline: the kernel does not say when a period begins; tardy infers it from the earliest \
                        wake-ups. Latencies are relative to that inferred phase, and early (negative) ones mean that \
                        the inference was off. Dropped cycles are those that finding the period again after a stall \
                        took.";

/// The notes to the tables of `run`.
pub fn of(run: &Run, findings: &Findings) -> Vec<String> {
    let mut notes = sentence::table_notes(findings);
    let recorded = || run.series.iter().filter(|series| series.tally.recorded > 0);
    if recorded().any(unpinned) {
        notes.push(UNPINNED.to_owned());
    }
    if recorded().any(|series| series.timer().is_some_and(|timer| timer.wake == Wake::Deadline)) {
        notes.push(DEADLINE.to_owned());
    }
    notes.extend(captures::notes(findings));
    notes.extend(noise::in_step(&findings.in_step));
    notes.extend(stops::of(run).map(|stops| stopped(run, stops)));
    notes
}

fn stopped(run: &Run, stops: Stops) -> String {
    let what = if run.series.iter().any(|series| series.gaps().is_some()) { "noise" } else { "busy" };
    let (stop, period) = (with_unit(stops.stop_ns as f64), format_duration_ns(stops.period_ns));
    match stops.by {
        StoppedBy::Throttle => format!(
            "{what}: the kernel stops a real-time thread that spins for more than {} of each {period}: its maxima of \
             about {stop} are that, not the machine; echo -1 > /proc/sys/kernel/sched_rt_runtime_us ends it.",
            format_duration_ns(stops.period_ns.saturating_sub(stops.stop_ns)),
        ),
        StoppedBy::FairServer => format!(
            "{what}: the kernel's fair server stops a real-time thread that spins for up to {stop} of each {period}, for \
             the tasks that it keeps waiting: its maxima of about {stop} are that, not the machine; \
             /sys/kernel/debug/sched/fair_server sets it.",
        ),
    }
}

/// Whether `series` is of a thread that was pinned to no CPU.
pub(crate) fn unpinned(series: &Series) -> bool {
    series.timer().is_some_and(|timer| !timer.pinned)
}
