//! A wake-up as the recorder counts it.

/// A wake-up as the waiter reports it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wakeup {
    /// How late, on the deadline's own clock; negative: early.
    pub late_ns: i64,
    /// The time of the wake-up, on the monotonic clock.
    pub at_ns: u64,
    /// Number of the cycle whose deadline it answers, from 0 at the start of the counted part.
    pub cycle: u64,
    /// Deadlines missed after that one.
    pub missed: u64,
    /// Deadlines before that one whose wake-ups could not be used.
    pub dropped: u64,
}
