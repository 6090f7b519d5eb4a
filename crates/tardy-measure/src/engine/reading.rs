//! What the engine, a source and its observers say to each other about time and progress.

use tardy_record::series::Change;

/// When a phase starts and what part of it counts, in ns on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Start of the run.
    pub(crate) run_start_ns: u64,
    /// The common start, at which the warm-up begins.
    pub(crate) start_ns: u64,
    /// Beginning of the counted part.
    pub(crate) from_ns: u64,
    /// Its planned end.
    pub(crate) to_ns: u64,
}

impl Counted {
    /// Beginning of the counted part, in ns from the start of the run.
    pub(crate) fn counted_from_ns(&self) -> u64 {
        self.from_ns.saturating_sub(self.run_start_ns)
    }

    /// Planned end of the counted part, in ns from the start of the run.
    pub(crate) fn counted_to_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.run_start_ns)
    }
}

/// One reading of everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    /// When, in ns from the start of the run.
    pub(crate) now_ns: u64,
    /// What the watchers saw change since the previous reading.
    pub(crate) changes: &'a [Change],
    /// Whether the source has ended.
    pub(crate) is_last: bool,
}

/// How far a source is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SourceProgress {
    /// When the counted part began, in ns from the start of the run, once it is known.
    pub(crate) counted_from_ns: Option<u64>,
    /// Until when it has counted, in ns from the start of the run; `None` if until now.
    pub(crate) counted_to_ns: Option<u64>,
    /// Counted time, in ns.
    pub(crate) counted_ns: u64,
    /// The highest value and its CPU.
    pub(crate) worst: Option<(i64, u32)>,
    /// Missed deadlines.
    pub(crate) missed: u64,
}
