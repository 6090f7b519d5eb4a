//! The end of a wait.

/// One wake-up of a waiter.
#[derive(Clone, Copy, Debug)]
pub struct Woken {
    /// The deadline that was waited for, on the waiter's clock.
    pub deadline_ns: i64,
    /// The time of the wake-up, on the same clock.
    pub now_ns: i64,
    /// Deadlines missed after `deadline_ns`.
    pub missed: u64,
    /// Missed deadlines as counted by the kernel; 0 for methods for which the kernel does not count them.
    pub kernel_overruns: u64,
    /// Deadlines before `deadline_ns` whose wake-ups could not be used.
    pub dropped: u64,
}

impl Woken {
    /// Whether it answers one deadline, with no other missed or dropped.
    #[inline(always)]
    pub fn is_single(&self) -> bool {
        self.missed | self.kernel_overruns | self.dropped == 0
    }
}
