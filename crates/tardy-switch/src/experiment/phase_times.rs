//! The times of a phase.

/// The counted part of a phase, in ns on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseTimes {
    /// Start of the run.
    pub run_start_ns: u64,
    /// Start of the counted part: frames that are sent earlier do not count.
    pub from_ns: u64,
    /// End of the counted part, at which talkers stop.
    pub to_ns: u64,
}
