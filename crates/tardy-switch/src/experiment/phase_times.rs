//! The times of a phase.

/// The counted part of a phase, in ns on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseTimes {
    /// Start of the run.
    pub run_start_ns: u64,
    /// Frames count if they are sent from here,
    pub from_ns: u64,
    /// to here, where talkers stop.
    pub to_ns: u64,
}
