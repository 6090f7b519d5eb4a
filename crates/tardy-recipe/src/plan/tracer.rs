//! The kernel's own events and tracers.

use tardy_record::plan::{ClockId, KernelPlan, TimerPlan, Tracer, TracerPlan, Wake};

use super::machine::Machine;
use crate::usage_error::{UsageError, lacking, wrong};

/// Time whose events fit into the trace buffers, in ns. The supervisor reads them once per second, and may be late.
const BUFFER_NS: u64 = 3_000_000_000;
/// Largest size of a cycle's four events in the trace, in bytes.
const CYCLE_BYTES: u64 = 256;
/// Smallest and largest buffer for a CPU's events, and largest for all, in KiB.
const BUFFER_KIB: (u64, u64, u64) = (256, 32 << 10, 256 << 10);

/// Shortest and longest period of timerlat (trace_osnoise.c).
const TIMERLAT_PERIOD_NS: (u64, u64) = (100_000, 1_000_000_000);
/// Period, runtime and threshold of osnoise: the kernel's defaults, except that a twentieth of the CPU is left to other
/// tasks.
const OSNOISE: (u64, u64, u64) = (1_000_000_000, 950_000_000, 5000);
/// Window, width and threshold of hwlat: the kernel's defaults.
const HWLAT: (u64, u64, u64) = (1_000_000_000, 500_000_000, 10_000);

/// The plan of `tracer` on the timer's CPUs.
pub(super) fn tracer(tracer: Tracer, timer: &TimerPlan, machine: &Machine) -> Result<TracerPlan, UsageError> {
    machine.trace.tracer(tracer).map_err(|reason| lacking("probe", reason))?;
    Ok(match tracer {
        Tracer::Timerlat => timerlat(timer),
        Tracer::Osnoise => noise(tracer, timer, OSNOISE),
        Tracer::Hwlat => noise(tracer, timer, HWLAT),
    })
}

/// timerlat with the timer's interval, within the kernel's range, and a user thread of the same priority.
pub(super) fn timerlat(timer: &TimerPlan) -> TracerPlan {
    let shortest_ns = timer.threads.iter().map(|thread| thread.interval_ns).min().unwrap_or(0);
    let priority =
        timer.threads.first().map(|thread| thread.priority).filter(|_| timer.policy.has_priority());
    TracerPlan {
        tracer: Tracer::Timerlat,
        cpus: timer.threads.iter().map(|thread| thread.cpu).collect(),
        // The kernel accepts whole microseconds only.
        period_ns: (shortest_ns / 1000 * 1000).clamp(TIMERLAT_PERIOD_NS.0, TIMERLAT_PERIOD_NS.1),
        runtime_ns: None,
        priority,
        threshold_ns: None,
    }
}

fn noise(
    tracer: Tracer,
    timer: &TimerPlan,
    (period_ns, runtime_ns, threshold_ns): (u64, u64, u64),
) -> TracerPlan {
    TracerPlan {
        tracer,
        cpus: timer.threads.iter().map(|thread| thread.cpu).collect(),
        period_ns,
        runtime_ns: Some(runtime_ns),
        priority: None,
        threshold_ns: Some(threshold_ns),
    }
}

/// The plan of the timer probe with the kernel's trace events.
pub(super) fn events(timer: &TimerPlan, machine: &Machine) -> Result<KernelPlan, UsageError> {
    if timer.wake != Wake::ClockNanosleep {
        let reason = format!(
            "the kernel probe computes deadlines from the events of clock_nanosleep, not of {}; remove --wake",
            timer.wake.name()
        );
        return Err(wrong("probe", reason));
    }
    if timer.clock != ClockId::Monotonic {
        let reason = format!(
            "the kernel probe needs deadlines on the trace's clock, monotonic, not on {}; remove --clock",
            timer.clock.name()
        );
        return Err(wrong("probe", reason));
    }
    machine.trace.events.as_ref().map_err(|reason| lacking("probe", reason))?;
    let shortest_ns = timer.threads.iter().map(|thread| thread.interval_ns).min().unwrap_or(1);
    let wanted_kib = BUFFER_NS / shortest_ns.max(1) * CYCLE_BYTES / 1024;
    let (least, most, all) = BUFFER_KIB;
    let share = (all / timer.threads.len().max(1) as u64).max(least);
    let buffer_kib = wanted_kib.clamp(least, most.min(share)) as u32;
    let alone_because = machine.trace.tracer(Tracer::Timerlat).err();
    Ok(KernelPlan { timer: timer.clone(), buffer_kib, alone_because })
}
