//! The last late cycles with their causes, in a ring of fixed size, and the file that shows them.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tardy_record::program::{CycleCause, LateCycle};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// How many late cycles are kept.
pub const RING_MAX: usize = 1000;
/// The longest text of a cause that is kept, in bytes: it may contain the path of a file.
const TEXT_MAX: usize = 200;

/// A late cycle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LateEntry {
    /// When it was due, in UTC (RFC 3339).
    pub due_at: String,
    /// The label of the thread's series.
    pub thread: String,
    /// How late the wake-up was, in ns.
    pub latency_ns: i64,
    /// From the due time to the end of the work, in ns.
    pub response_ns: i64,
    /// Whether it missed its deadline.
    pub missed: bool,
    /// The causes, the longest first.
    pub causes: Vec<CycleCause>,
    /// The name of the run file that has it.
    pub run: String,
}

impl LateEntry {
    /// The cycle of the thread `thread`, in a run that began at `run_start` and has the file `run`.
    pub fn of(thread: &str, cycle: &LateCycle, run_start: SystemTime, run: &str) -> Self {
        let due_at = OffsetDateTime::from(run_start + Duration::from_nanos(cycle.due_ns));
        let cut = |cause: &CycleCause| CycleCause { what: cut(&cause.what), ..cause.clone() };
        Self {
            due_at: due_at.format(&Rfc3339).unwrap_or_default(),
            thread: thread.to_owned(),
            latency_ns: cycle.latency_ns,
            response_ns: cycle.response_ns,
            missed: cycle.missed,
            causes: cycle.causes.iter().map(cut).collect(),
            run: run.to_owned(),
        }
    }
}

fn cut(text: &str) -> String {
    let end = (0..=TEXT_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}

/// The ring.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LateRing {
    /// Late cycles since watching began, those that are kept and others.
    pub late: u64,
    /// The last ones, the oldest first.
    pub last: VecDeque<LateEntry>,
}

impl LateRing {
    /// Adds a late cycle. The oldest one is dropped if the ring is full.
    pub fn push(&mut self, entry: LateEntry) {
        self.late += 1;
        if self.last.len() == RING_MAX {
            self.last.pop_front();
        }
        self.last.push_back(entry);
    }

    /// Counts late cycles that are not kept, because there were too many at once.
    pub fn count_more(&mut self, more: u64) {
        self.late += more;
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data is JSON") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::program::Why;

    fn entry(due_ns: u64) -> LateEntry {
        let cause =
            CycleCause { why: Why::SystemCall, what: "é".repeat(TEXT_MAX), took_ns: 2000, excess_ns: 1000 };
        let cycle = LateCycle { due_ns, latency_ns: 3, response_ns: 5, missed: true, causes: vec![cause] };
        LateEntry::of("control", &cycle, SystemTime::UNIX_EPOCH, "a.run.json")
    }

    #[test]
    fn the_ring_keeps_the_last_ones_and_counts_all() {
        let mut ring = LateRing::default();
        (0..RING_MAX as u64 + 10).for_each(|number| ring.push(entry(number * 1_000_000)));
        ring.count_more(5);
        assert_eq!((ring.late, ring.last.len()), (RING_MAX as u64 + 15, RING_MAX));
        assert_eq!(ring.last[0].due_at, "1970-01-01T00:00:00.01Z");
        assert!(ring.text().contains("\"late\": 1015"));
    }

    #[test]
    fn the_text_of_a_cause_is_bounded() {
        assert_eq!(entry(0).causes[0].what.len(), TEXT_MAX);
    }
}
