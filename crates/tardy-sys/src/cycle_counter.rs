//! The processor's counter, for a loop that reads the time as often as possible.
//!
//! The loop reads it only if it is the kernel's clock source: it then runs at a constant rate, also in idle states.
//! Otherwise the loop reads CLOCK_MONOTONIC.

use crate::clock::{Clock, ClockReader};
use crate::kernel_files::KernelFiles;

/// The kernel's clock source (Documentation/ABI/testing/sysfs-devices-system-clocksource).
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The supported counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `rdtsc`.
    Tsc,
    /// `cntvct_el0`.
    Cntvct,
    /// CLOCK_MONOTONIC, in ns.
    ClockMonotonic,
}

impl Kind {
    /// The counter to read on this machine: that of the kernel's clock source, if user space can read it.
    pub fn of_this_machine() -> Self {
        let source = KernelFiles::real().text(CLOCK_SOURCE).unwrap_or_default();
        match source.trim() {
            "tsc" if cfg!(any(target_arch = "x86_64", target_arch = "x86")) => Self::Tsc,
            "arch_sys_counter" if cfg!(target_arch = "aarch64") => Self::Cntvct,
            _ => Self::ClockMonotonic,
        }
    }
}

/// A counter.
pub trait Ticks {
    /// Its value.
    fn now(&mut self) -> u64;
}

/// The time-stamp counter. On other processors than x86 it is always 0; [`Kind::of_this_machine`] does not return it
/// there.
#[derive(Clone, Copy, Debug)]
pub struct Tsc;

impl Ticks for Tsc {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has the instruction, and Linux permits it unless a process disables it
        // (PR_SET_TSC, which tardy never does).
        return unsafe { core::arch::x86_64::_rdtsc() };
        #[cfg(target_arch = "x86")]
        // SAFETY: as above; it is the kernel's clock source.
        return unsafe { core::arch::x86::_rdtsc() };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
        0
    }
}

/// The virtual counter of Arm's generic timer. On other processors it is always 0, like [`Tsc`].
#[derive(Clone, Copy, Debug)]
pub struct Cntvct;

impl Ticks for Cntvct {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        #[cfg(target_arch = "aarch64")]
        {
            let count: u64;
            // SAFETY: reads a register that Linux makes readable for user space (arch/arm64, CNTKCTL_EL1.EL0VCTEN),
            // for its vDSO.
            unsafe {
                core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags))
            };
            count
        }
        #[cfg(not(target_arch = "aarch64"))]
        0
    }
}

/// CLOCK_MONOTONIC, whose ticks are ns.
#[derive(Debug)]
pub struct MonotonicTicks(ClockReader);

impl MonotonicTicks {
    /// Prepares to read it.
    pub fn new() -> Self {
        Self(ClockReader::new(Clock::Monotonic))
    }
}

impl Default for MonotonicTicks {
    fn default() -> Self {
        Self::new()
    }
}

impl Ticks for MonotonicTicks {
    #[inline(always)]
    fn now(&mut self) -> u64 {
        self.0.now_ns() as u64
    }
}

/// The values of a counter and of CLOCK_MONOTONIC at the same time: the closest of several readings.
pub fn moment<T: Ticks>(ticks: &mut T, clock: &mut ClockReader) -> (u64, u64) {
    const READINGS: usize = 16;
    let mut closest = (u64::MAX, 0, 0);
    for _ in 0..READINGS {
        let before = ticks.now();
        let ns = clock.now_ns() as u64;
        let after = ticks.now();
        let apart = after.saturating_sub(before);
        if apart < closest.0 {
            closest = (apart, before + apart / 2, ns);
        }
    }
    (closest.1, closest.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over a longer time the counter and the clock agree on the length of a second.
    #[test]
    fn the_counter_of_this_machine_runs_with_the_clock() {
        fn rates<T: Ticks>(mut ticks: T) -> [f64; 2] {
            let mut clock = ClockReader::new(Clock::Monotonic);
            [(); 2].map(|()| {
                let (ticks_before, ns_before) = moment(&mut ticks, &mut clock);
                while clock.now_ns() as u64 - ns_before < 20_000_000 {}
                let (ticks_after, ns_after) = moment(&mut ticks, &mut clock);
                (ticks_after - ticks_before) as f64 / (ns_after - ns_before) as f64
            })
        }
        let [one, other] = match Kind::of_this_machine() {
            Kind::Tsc => rates(Tsc),
            Kind::Cntvct => rates(Cntvct),
            Kind::ClockMonotonic => rates(MonotonicTicks::new()),
        };
        assert!((one / other - 1.0).abs() < 1e-3, "{one} {other}");
    }
}
