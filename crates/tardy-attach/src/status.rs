//! How far the watching of a program is.

use std::fmt;

use tardy_record::units::{counted, format_duration_ns};

/// What watching shows while it goes on.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Periodic threads so far.
    pub threads: usize,
    /// The counted time so far; `None` before counting.
    pub counted_ns: Option<u64>,
    /// Cycles so far.
    pub cycles: u64,
    /// Cycles that missed their deadline.
    pub missed: u64,
}

/// In one line: the threads, the counted time, and the cycles.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = counted(self.threads as u64, "periodic thread", "periodic threads");
        match self.counted_ns {
            None => write!(f, "{threads}, observing"),
            Some(ns) => {
                let passed = format_duration_ns(ns / 1_000_000_000 * 1_000_000_000);
                write!(f, "{threads}, {passed}, {} cycles, {} missed", self.cycles, self.missed)
            }
        }
    }
}
