//! How much later than it was due a timer can fire, by what the kernel wrote into the timer's hardware.

use crate::execution::NS_PER_INSTRUCTION;
use crate::observed::Reading;

/// A tick of the timer's hardware in instructions: the local APIC of the emulated PC counts at 1 GHz, and Linux divides that by 16
/// (`APIC_DIVISOR` in arch/x86/kernel/apic/apic.c).
const TICK: u64 = 8;
/// The kernel sets the local timer at least so many ns ahead: 15 of its ticks are less (`lapic_clockevent.min_delta_ns`,
/// arch/x86/kernel/apic/apic.c), and `cev_delta2ns` in kernel/time/clockevents.c raises what is less to that.
const LEAST_DISTANCE_NS: i64 = 1000;

impl Reading {
    /// The least and the greatest number of instructions that the timer can have been late by itself. They differ by more than a tick
    /// only if it is not known how far ahead it was set.
    pub(crate) fn timer_delay(&self) -> (u64, u64) {
        let raised_by = |ahead_ns: i64| {
            LEAST_DISTANCE_NS.saturating_sub(ahead_ns).max(0).unsigned_abs().div_ceil(NS_PER_INSTRUCTION)
        };
        let least = self.lag + TICK + self.ahead_ns.map_or(0, raised_by);
        let greatest = self.lag + TICK + raised_by(self.ahead_ns.unwrap_or(0));
        (least, greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::reading;

    #[test]
    fn a_timer_that_is_due_soon_is_set_a_microsecond_ahead() {
        let delay = |ahead_ns| Reading { lag: 40, ahead_ns, ..reading(7, 0, 0) }.timer_delay();
        assert_eq!(delay(Some(50_000)), (48, 48));
        assert_eq!(delay(Some(1_000)), (48, 48));
        assert_eq!(delay(Some(401)), (348, 348));
        assert_eq!(delay(Some(-100)), (598, 598));
        assert_eq!(delay(None), (48, 548));
    }
}
