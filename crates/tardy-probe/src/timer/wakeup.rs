//! A wake-up as the recorder counts it.

/// A wake-up to record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wakeup {
    /// The latency, on the deadline's own clock; negative if early.
    pub late_ns: i64,
    /// The time of the wake-up, on the monotonic clock.
    pub at_ns: u64,
    /// Number of the cycle whose deadline it answers, from 0 at the start of the counted part.
    pub cycle: u64,
    /// Deadlines missed after that of the cycle.
    pub missed: u64,
    /// Deadlines before that of the cycle whose wake-ups could not be used.
    pub dropped: u64,
}
