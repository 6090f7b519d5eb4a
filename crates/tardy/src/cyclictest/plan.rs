//! The plan for cyclictest's options.

use tardy_record::plan::{CausesPlan, PhasePlan, Plan, Policy, ProbePlan, Span, ThreadPlan, TimerPlan, Wake};

use super::options::{Affinity, Options, Power, Wait};

/// Shortest interval, in us. With a shorter one the measurement's own cost would dominate.
const INTERVAL_US_MIN: u64 = 20;
/// Planned duration of a run without an end, in ns: one year. The user interrupts it earlier.
const NO_END_NS: u64 = 365 * 86_400 * 1_000_000_000;
/// Nanoseconds in a microsecond.
const US: u64 = 1000;
/// Trace buffer for a CPU's events before the wake-up that ends the run (`-b`), in KiB.
const CAUSES_BUFFER_KIB: u32 = 512;

/// The plan for a machine on which this process may use the CPUs `allowed`, in ascending order.
///
/// # Errors
/// A message for the user, if tardy or this machine does not support the options.
pub(super) fn of(options: &Options, allowed: &[u32]) -> Result<Plan, String> {
    let threads = threads(options, allowed)?;
    let wake = wake(options.wait);
    if wake == Wake::Setitimer && options.clock != tardy_record::plan::ClockId::Monotonic {
        return Err("-x -s -c 1: setitimer uses the monotonic clock only; remove -c".to_owned());
    }
    let measured: Vec<u32> = threads.iter().map(|thread| thread.cpu).collect();
    let timer = TimerPlan {
        wake,
        clock: options.clock,
        dither_ns: 0,
        policy: options.resolved_policy(),
        memory_locked: options.locks_memory,
        dma_latency_us: match options.power {
            Power::Hold(us) => Some(us),
            Power::System | Power::Battery => None,
        },
        // Causes are shown only from a run file.
        causes: options
            .break_us
            .filter(|_| options.tardy_run.is_some())
            .map(|us| CausesPlan { over_ns: us * US, buffer_kib: CAUSES_BUFFER_KIB }),
        threads,
    };
    Ok(Plan {
        recipe: "cyclictest".to_owned(),
        about: Some("Requested with cyclictest's options.".to_owned()),
        scale: 1.0,
        seed: 1,
        thresholds_ns: options.break_us.map(|us| us * US).into_iter().collect(),
        housekeeping_cpu: housekeeping_cpu(options, allowed, &measured)?,
        phases: vec![PhasePlan {
            label: wake.name().to_owned(),
            round: 1,
            loads: Vec::new(),
            // cyclictest's first cycle counts.
            warmup_ns: 0,
            span: span(options),
            probe: ProbePlan::Timer(timer),
        }],
        ..Plan::default()
    })
}

/// cyclictest's modes: MODE_CLOCK_NANOSLEEP by default, MODE_SYS_NANOSLEEP with `-s`, MODE_CYCLIC (timer_create) with `-x`,
/// MODE_SYS_ITIMER with both; `-r` uses relative waits.
fn wake(wait: Wait) -> Wake {
    match wait {
        Wait { posix_timers: true, system: true, .. } => Wake::Setitimer,
        Wait { posix_timers: true, .. } => Wake::TimerSettime,
        Wait { system: true, .. } | Wait { relative: true, .. } => Wake::Nanosleep,
        Wait { .. } => Wake::ClockNanosleep,
    }
}

fn span(options: &Options) -> Span {
    let shortest_ns = options.interval_us * US;
    let by_time_ns = options.duration_s.checked_mul(1_000_000_000).filter(|ns| *ns > 0);
    match (options.loops, by_time_ns) {
        (0, None) => Span::DurationNs(NO_END_NS),
        (0, Some(ns)) => Span::DurationNs(ns.min(NO_END_NS)),
        // Whichever ends first.
        (loops, Some(ns)) if loops.saturating_mul(shortest_ns) > ns => Span::DurationNs(ns),
        (loops, _) => Span::Loops(loops),
    }
}

fn threads(options: &Options, allowed: &[u32]) -> Result<Vec<ThreadPlan>, String> {
    if options.interval_us < INTERVAL_US_MIN {
        let given = options.interval_us;
        return Err(format!(
            "-i {given}: shorter than {INTERVAL_US_MIN} us, the shortest measurable interval"
        ));
    }
    let places = match &options.affinity {
        Affinity::None | Affinity::All => allowed,
        Affinity::Set(set) => {
            if let Some(cpu) = set.iter().find(|cpu| !allowed.contains(cpu)) {
                let numbers: Vec<String> = allowed.iter().map(u32::to_string).collect();
                let allowed = numbers.join(" ");
                return Err(format!(
                    "-a: CPU {cpu} does not exist, is offline, or is not available to this process; available: {allowed}"
                ));
            }
            set
        }
    };
    if places.is_empty() {
        return Err("no CPU is available to this process".to_owned());
    }
    let count = options.threads.unwrap_or(allowed.len() as u32);
    let (interval_ns, distance_ns) = (options.interval_us * US, options.resolved_distance_us() * US);
    let thread = |index: u32| ThreadPlan {
        cpu: places[index as usize % places.len()],
        pinned: options.affinity != Affinity::None,
        priority: match options.resolved_policy() {
            Policy::Other | Policy::Deadline => 0,
            Policy::Fifo | Policy::Rr if options.spread => options.priority.saturating_sub(index).max(1),
            Policy::Fifo | Policy::Rr => options.priority,
        },
        interval_ns: interval_ns + distance_ns * u64::from(index),
        offset_ns: match options.aligned_us {
            Some(apart_us) => apart_us * US * u64::from(index),
            // Wake-ups are spread over the interval, because threads that wake simultaneously would delay each other.
            None => interval_ns * u64::from(index) / u64::from(count),
        },
    };
    Ok((0..count).map(thread).collect())
}

fn housekeeping_cpu(options: &Options, allowed: &[u32], measured: &[u32]) -> Result<u32, String> {
    match options.main_cpu {
        Some(cpu) if !allowed.contains(&cpu) => Err(format!(
            "--mainaffinity {cpu}: does not exist, is offline, or is not available to this process"
        )),
        Some(cpu) => Ok(cpu),
        None => {
            let spare = allowed.iter().rev().find(|cpu| !measured.contains(cpu));
            spare.or(allowed.first()).copied().ok_or_else(|| "no CPU is available to this process".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUS: [u32; 4] = [0, 1, 2, 3];

    fn timer(options: &Options) -> TimerPlan {
        of(options, &CPUS).unwrap().phases[0].probe.timer().unwrap().clone()
    }

    #[test]
    fn the_default_is_one_thread_that_is_not_pinned() {
        let timer = timer(&Options::default());
        assert_eq!(
            (timer.policy, timer.memory_locked, timer.dma_latency_us),
            (Policy::Other, false, Some(0))
        );
        assert_eq!(timer.threads.len(), 1);
        assert!(!timer.threads[0].pinned);
        let span = of(&Options::default(), &CPUS).unwrap().phases[0].span;
        assert_eq!(span, Span::DurationNs(NO_END_NS));
    }

    #[test]
    fn threads_are_distributed_over_the_cpus_with_distance_and_priority() {
        let options = Options {
            threads: Some(5),
            affinity: Affinity::Set(vec![3, 1]),
            priority: 50,
            spread: true,
            aligned_us: Some(7),
            ..Options::default()
        };
        let threads = timer(&options).threads;
        let found: Vec<_> = threads
            .iter()
            .map(|one| (one.cpu, one.priority, one.interval_ns / US, one.offset_ns / US))
            .collect();
        let expected =
            [(3, 50, 1000, 0), (1, 49, 1500, 7), (3, 48, 2000, 14), (1, 47, 2500, 21), (3, 46, 3000, 28)];
        assert_eq!(found, expected);
    }

    #[test]
    fn loops_or_duration_end_the_run_whichever_is_first() {
        let span = |loops, duration_s| span(&Options { loops, duration_s, ..Options::default() });
        assert_eq!(span(5000, 0), Span::Loops(5000));
        assert_eq!(span(0, 3), Span::DurationNs(3_000_000_000));
        assert_eq!(span(5000, 3), Span::DurationNs(3_000_000_000));
        assert_eq!(span(2000, 3), Span::Loops(2000));
    }

    #[test]
    fn wake_methods_are_those_of_cyclictests_modes() {
        let wake = |system, posix_timers, relative| wake(Wait { system, posix_timers, relative });
        assert_eq!(wake(false, false, false), Wake::ClockNanosleep);
        assert_eq!(wake(true, false, false), Wake::Nanosleep);
        assert_eq!(wake(false, true, false), Wake::TimerSettime);
        assert_eq!(wake(true, true, false), Wake::Setitimer);
        assert_eq!(wake(false, false, true), Wake::Nanosleep);
    }

    #[test]
    fn a_missing_cpu_and_a_short_interval_are_refused() {
        let missing = Options { affinity: Affinity::Set(vec![9]), ..Options::default() };
        assert!(of(&missing, &CPUS).unwrap_err().contains("CPU 9"));
        let short = Options { interval_us: 5, ..Options::default() };
        assert!(of(&short, &CPUS).unwrap_err().contains("20 us"));
    }
}
