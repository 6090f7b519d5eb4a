//! The threads of the timer probe.

use tardy_record::plan::{CausesPlan, ClockId, Policy, ThreadPlan, TimerPlan, Wake};
use tardy_record::units::format_duration_ns;

use super::machine::Machine;
use crate::options::TimerOptions;
use crate::usage_error::{UsageError, wrong};
use crate::values::{CauseTracing, ProbeKind};

/// Shortest interval, in ns. With a shorter one the measurement's own cost would dominate.
const INTERVAL_NS_MIN: u64 = 20_000;
/// Shortest interval of gpio-wiggle with busy waiting, in ns. It needs no timer, only the toggle.
const WIGGLE_INTERVAL_NS_MIN: u64 = 1_000;
/// Longest interval, in ns.
const INTERVAL_NS_MAX: u64 = 3_600_000_000_000;
/// Trace buffer for a CPU's events before a late wake-up, in KiB: about 10,000 events.
const CAUSES_BUFFER_KIB: u32 = 512;

/// The plan of threads with the wake method `wake`.
pub(super) fn timer(
    options: &TimerOptions,
    wake: Wake,
    probe: ProbeKind,
    cpus: &[u32],
    machine: &Machine,
) -> Result<TimerPlan, UsageError> {
    let (clock, policy) = (options.clock(), options.policy(wake));
    let least_ns = match (probe, wake) {
        (ProbeKind::GpioWiggle, Wake::Busy) => WIGGLE_INTERVAL_NS_MIN,
        _ => INTERVAL_NS_MIN,
    };
    let (interval_ns, dither_ns) = (interval_ns(options, least_ns)?, options.dither_ns());
    check_combination(wake, clock, policy, interval_ns, dither_ns)?;
    Ok(TimerPlan {
        wake,
        clock,
        dither_ns,
        policy,
        memory_locked: true,
        dma_latency_us: options.dma_latency_us(),
        causes: causes(options.causes()),
        threads: threads(options, policy, interval_ns, cpus, machine)?,
    })
}

fn causes(causes: CauseTracing) -> Option<CausesPlan> {
    let over_ns = match causes {
        CauseTracing::Off => return None,
        CauseTracing::Worst => 0,
        CauseTracing::Over(duration) => duration.ns(),
    };
    Some(CausesPlan { over_ns, buffer_kib: CAUSES_BUFFER_KIB })
}

fn interval_ns(options: &TimerOptions, least_ns: u64) -> Result<u64, UsageError> {
    let interval_ns = options.interval_ns();
    let given = format_duration_ns(interval_ns);
    if interval_ns < least_ns {
        let least = format_duration_ns(least_ns);
        return Err(wrong(
            "interval",
            format!("{given} is shorter than {least}, the shortest measurable interval"),
        ));
    }
    if interval_ns > INTERVAL_NS_MAX {
        return Err(wrong("interval", format!("{given} is longer than an hour")));
    }
    Ok(interval_ns)
}

fn check_combination(
    wake: Wake,
    clock: ClockId,
    policy: Policy,
    interval_ns: u64,
    dither_ns: u64,
) -> Result<(), UsageError> {
    if dither_ns >= interval_ns {
        return Err(wrong("dither", format!("{} is not below the interval", format_duration_ns(dither_ns))));
    }
    let kernel_keeps_period =
        matches!(wake, Wake::TimerSettime | Wake::Setitimer | Wake::Timerfd | Wake::Deadline);
    if dither_ns > 0 && kernel_keeps_period {
        let reason = format!(
            "not possible with {}, whose period the kernel keeps; use clock_nanosleep, nanosleep or busy",
            wake.name()
        );
        return Err(wrong("dither", reason));
    }
    if wake == Wake::Timerfd && clock == ClockId::Tai {
        let reason = "timerfd does not support CLOCK_TAI; use monotonic or realtime, or another wake method";
        return Err(wrong("clock", reason));
    }
    if wake == Wake::Setitimer && clock != ClockId::Monotonic {
        return Err(wrong("clock", "setitimer uses the monotonic clock only; remove --clock"));
    }
    if wake == Wake::Setitimer && !interval_ns.is_multiple_of(1000) {
        return Err(wrong("interval", "setitimer takes whole microseconds only"));
    }
    if wake == Wake::Deadline && policy != Policy::Deadline {
        let reason = "deadline waits for the period of SCHED_DEADLINE and needs --policy deadline";
        return Err(wrong("wake", reason));
    }
    Ok(())
}

fn threads(
    options: &TimerOptions,
    policy: Policy,
    interval_ns: u64,
    cpus: &[u32],
    machine: &Machine,
) -> Result<Vec<ThreadPlan>, UsageError> {
    let (distance_ns, first, step) = (options.distance_ns(), options.priority(), options.priority_step());
    // The kernel refuses a deadline task that is pinned to fewer CPUs than its root domain has. Pinning is possible only if
    // the domain has one CPU (an exclusive cpuset partition).
    let pinned = |cpu| policy != Policy::Deadline || machine.cpus.domain_of(cpu).len() == 1;
    cpus.iter()
        .zip(0u32..)
        .map(|(cpu, index)| {
            let priority =
                if policy.has_priority() { first.saturating_sub(step.saturating_mul(index)) } else { 0 };
            if policy.has_priority() && !(1..=99).contains(&priority) {
                let reason = format!(
                    "{priority} for CPU {cpu} is out of range; expected a real-time priority from 1 to 99"
                );
                return Err(wrong("priority", reason));
            }
            // Wake-ups are spread over the interval, because threads that wake simultaneously would delay each other.
            let offset_ns = interval_ns * u64::from(index) / cpus.len() as u64;
            let interval_ns = interval_ns + distance_ns * u64::from(index);
            Ok(ThreadPlan { cpu: *cpu, pinned: pinned(*cpu), priority, interval_ns, offset_ns })
        })
        .collect()
}
