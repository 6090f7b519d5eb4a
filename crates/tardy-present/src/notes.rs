//! What a reader must know beside the numbers of one run: the same notes in the terminal and in the report.

use tardy_analyse::findings::Findings;
use tardy_record::plan::Wake;
use tardy_record::{Run, Series};

use crate::sentence;

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
    notes
}

/// Whether `series` is of a thread that was pinned to no CPU.
pub(crate) fn unpinned(series: &Series) -> bool {
    series.timer().is_some_and(|timer| !timer.pinned)
}
