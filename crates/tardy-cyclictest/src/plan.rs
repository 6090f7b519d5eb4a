//! The plan for cyclictest's options.

use tardy_record::plan::{CausesPlan, PhasePlan, Plan, ProbePlan, Span, ThreadPlan, TimerPlan, Wake};

use crate::cpu_set::Cpus;
use crate::options::{Affinity, Options, Power, Wait};

/// Shortest interval, in us. With a shorter one the measurement's own cost would dominate.
const INTERVAL_US_MIN: u64 = 20;
/// Planned duration of a run without an end, in ns: one year. The user interrupts it earlier.
const NO_END_NS: u64 = 365 * 86_400 * 1_000_000_000;
/// Nanoseconds in a microsecond.
const US: u64 = 1000;
/// Trace buffer for a CPU's events before the wake-up that ends the run (`-b`), in KiB.
const CAUSES_BUFFER_KIB: u32 = 512;

/// A plan, and what it decides instead of the options, a line for each.
#[derive(Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// What it decides instead of the options.
    pub notes: Vec<String>,
}

/// The plan for a machine with these CPUs.
///
/// # Errors
/// A message for the user, if tardy or this machine does not support the options.
pub fn of(options: &Options, cpus: &Cpus) -> Result<Planned, String> {
    let mut notes = Vec::new();
    let threads = threads(options, cpus, &mut notes)?;
    let wake = wake(options.wait);
    let measured: Vec<u32> = threads.iter().map(|thread| thread.cpu).collect();
    let timer = TimerPlan {
        wake,
        clock: options.clock,
        dither_ns: 0,
        policy: options.policy,
        memory_locked: options.locks_memory,
        dma_latency_us: match options.power {
            Power::Hold(us) => Some(us),
            Power::System | Power::Battery | Power::Unlimited => None,
        },
        // Causes are shown only from a run file.
        causes: options
            .break_us
            .filter(|_| options.tardy_run.is_some())
            .map(|us| CausesPlan { over_ns: us * US, buffer_kib: CAUSES_BUFFER_KIB }),
        threads,
    };
    let plan = Plan {
        recipe: "cyclictest".to_owned(),
        about: Some("Requested with cyclictest's options.".to_owned()),
        scale: 1.0,
        seed: 1,
        thresholds_ns: options.break_us.map(|us| us * US).into_iter().collect(),
        housekeeping_cpu: housekeeping_cpu(options, cpus, &measured, &mut notes)?,
        phases: vec![PhasePlan {
            label: wake.name().to_owned(),
            round: 1,
            loads: Vec::new(),
            // cyclictest's first cycle counts.
            warmup_ns: 0,
            span: span(options, &timer.threads),
            probe: ProbePlan::Timer(timer),
        }],
        ..Plan::default()
    };
    Ok(Planned { plan, notes })
}

/// cyclictest's modes: MODE_CLOCK_NANOSLEEP by default, MODE_SYS_NANOSLEEP with `-s`, MODE_CYCLIC (timer_create) with `-x`;
/// `-r` uses relative waits.
fn wake(wait: Wait) -> Wake {
    match wait {
        Wait { posix_timers: true, .. } => Wake::TimerSettime,
        Wait { system: true, .. } | Wait { relative: true, .. } => Wake::Nanosleep,
        Wait { .. } => Wake::ClockNanosleep,
    }
}

/// `-l` and `-D`: whichever ends first, for the thread with the shortest interval.
fn span(options: &Options, threads: &[ThreadPlan]) -> Span {
    let intervals = || threads.iter().map(|thread| thread.interval_ns);
    let (shortest_ns, longest_ns) = (intervals().min().unwrap_or(0), intervals().max().unwrap_or(0));
    let by_time_ns = options.duration_s.checked_mul(1_000_000_000).filter(|ns| *ns > 0);
    match (options.loops, by_time_ns) {
        (0, None) => Span::DurationNs(NO_END_NS),
        (0, Some(ns)) => Span::DurationNs(ns.min(NO_END_NS)),
        (loops, Some(ns)) if loops.saturating_mul(longest_ns) > ns => {
            Span::DurationNs(ns.min(loops.saturating_mul(shortest_ns)))
        }
        (loops, _) => Span::Loops(loops),
    }
}

fn threads(options: &Options, cpus: &Cpus, notes: &mut Vec<String>) -> Result<Vec<ThreadPlan>, String> {
    if options.interval_us < INTERVAL_US_MIN {
        let given = options.interval_us;
        return Err(format!(
            "-i {given}: shorter than {INTERVAL_US_MIN} us, the shortest measurable interval"
        ));
    }
    let places = match &options.affinity {
        Affinity::None | Affinity::All => cpus.allowed.clone(),
        Affinity::Set(set) => set.resolve(cpus).map_err(|reason| format!("-a: {reason}"))?,
    };
    if places.is_empty() {
        return Err("no CPU is available to this process".to_owned());
    }
    let count = options.threads.unwrap_or(places.len() as u32);
    let priority = priority(options, count, notes);
    let (interval_ns, distance_ns) = (options.interval_us * US, options.resolved_distance_us() * US);
    let thread = |index: u32| ThreadPlan {
        cpu: places[index as usize % places.len()],
        pinned: options.affinity != Affinity::None,
        priority: if options.spread && priority > 0 {
            priority.saturating_sub(index).max(1)
        } else {
            priority
        },
        interval_ns: interval_ns + distance_ns * u64::from(index),
        offset_ns: match (options.aligned_us, options.second_offset_us) {
            (Some(apart_us), _) => apart_us * US * u64::from(index),
            (None, Some(offset_us)) => offset_us * US,
            // Wake-ups are spread over the interval, because threads that wake simultaneously would delay each other.
            (None, None) => interval_ns * u64::from(index) / u64::from(count),
        },
    };
    Ok((0..count).map(thread).collect())
}

/// The priority of the first thread; 0 if the policy has none. cyclictest's default is one above the number of threads.
fn priority(options: &Options, count: u32, notes: &mut Vec<String>) -> u32 {
    match (options.policy.has_priority(), options.priority) {
        (false, _) => 0,
        (true, 0) => {
            let priority = count.min(98) + 1;
            notes.push(format!("defaulting realtime priority to {priority}"));
            priority
        }
        (true, given) => given,
    }
}

/// The CPU of the supervisor: of those of `--mainaffinity` or else of all, one on which no thread measures, if there is one.
fn housekeeping_cpu(
    options: &Options,
    cpus: &Cpus,
    measured: &[u32],
    notes: &mut Vec<String>,
) -> Result<u32, String> {
    let spare =
        |places: &[u32]| places.iter().rev().find(|cpu| !measured.contains(cpu)).or(places.first()).copied();
    let named = options.main_cpus.as_ref().and_then(|set| {
        set.resolve(cpus)
            .inspect_err(|reason| notes.push(format!("--mainaffinity has no effect: {reason}")))
            .ok()
    });
    let place = named.as_deref().and_then(spare).or_else(|| spare(&cpus.allowed));
    place.ok_or_else(|| "no CPU is available to this process".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::plan::Policy;

    use crate::cpu_set::CpuSet;

    fn cpus() -> Cpus {
        Cpus { allowed: vec![0, 1, 2, 3], cpuset: vec![0, 1, 2, 3, 4] }
    }

    fn plan(options: &Options) -> Plan {
        of(options, &cpus()).unwrap().plan
    }

    fn timer(options: &Options) -> TimerPlan {
        plan(options).phases[0].probe.timer().unwrap().clone()
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
        let span = plan(&Options::default()).phases[0].span;
        assert_eq!(span, Span::DurationNs(NO_END_NS));
    }

    #[test]
    fn threads_are_distributed_over_the_cpus_with_distance_and_priority() {
        let options = Options {
            threads: Some(5),
            affinity: Affinity::Set(CpuSet::Only(vec![1, 3])),
            policy: Policy::Fifo,
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
            [(1, 50, 1000, 0), (3, 49, 1500, 7), (1, 48, 2000, 14), (3, 47, 2500, 21), (1, 46, 3000, 28)];
        assert_eq!(found, expected);
    }

    #[test]
    fn loops_or_duration_end_the_run_whichever_is_first() {
        let span = |loops, duration_s, threads| {
            let threads = Some(threads);
            plan(&Options { loops, duration_s, threads, ..Options::default() }).phases[0].span
        };
        assert_eq!(span(5000, 0, 1), Span::Loops(5000));
        assert_eq!(span(0, 3, 1), Span::DurationNs(3_000_000_000));
        assert_eq!(span(5000, 3, 1), Span::DurationNs(3_000_000_000));
        assert_eq!(span(2000, 3, 1), Span::Loops(2000));
        assert_eq!(span(20, 1, 1000), Span::DurationNs(20_000_000), "the last thread would need 10 s");
    }

    #[test]
    fn wake_methods_are_those_of_cyclictests_modes() {
        let wake = |system, posix_timers, relative| wake(Wait { system, posix_timers, relative });
        assert_eq!(wake(false, false, false), Wake::ClockNanosleep);
        assert_eq!(wake(true, false, false), Wake::Nanosleep);
        assert_eq!(wake(false, true, false), Wake::TimerSettime);
        assert_eq!(wake(false, false, true), Wake::Nanosleep);
        assert_eq!(wake(false, true, true), Wake::TimerSettime);
    }

    #[test]
    fn a_missing_cpu_and_a_short_interval_are_refused() {
        let missing = Options { affinity: only(&[9]), ..Options::default() };
        assert!(of(&missing, &cpus()).unwrap_err().starts_with("-a: CPU 9 does not exist"));
        let short = Options { interval_us: 5, ..Options::default() };
        assert!(of(&short, &cpus()).unwrap_err().contains("20 us"));
    }

    fn only(cpus: &[u32]) -> Affinity {
        Affinity::Set(CpuSet::Only(cpus.to_vec()))
    }

    #[test]
    fn without_a_number_there_is_a_thread_for_each_cpu_of_the_set() {
        let count =
            |affinity| timer(&Options { threads: None, affinity, ..Options::default() }).threads.len();
        assert_eq!((count(Affinity::All), count(only(&[1, 3])), count(only(&[4]))), (4, 2, 1));
        let all_but = CpuSet::AllBut(vec![0]);
        assert_eq!(count(Affinity::Set(all_but)), 3);
    }

    #[test]
    fn a_policy_without_a_priority_gets_one_above_the_number_of_threads() {
        let options = Options { policy: Policy::Rr, threads: None, ..Options::default() };
        assert_eq!(timer(&options).threads[0].priority, 5);
        assert_eq!(of(&options, &cpus()).unwrap().notes, ["defaulting realtime priority to 5"]);
        let many = Options { threads: Some(200), ..options };
        assert_eq!(timer(&many).threads[0].priority, 99);
    }

    #[test]
    fn the_supervisor_runs_on_a_cpu_of_mainaffinity_without_a_thread() {
        let planned = |main: Option<CpuSet>, affinity| {
            let planned = of(&Options { main_cpus: main, affinity, ..Options::default() }, &cpus()).unwrap();
            (planned.plan.housekeeping_cpu, planned.notes.len())
        };
        assert_eq!(planned(None, only(&[3])), (2, 0));
        assert_eq!(planned(Some(CpuSet::Only(vec![0, 1])), only(&[1])), (0, 0));
        assert_eq!(planned(Some(CpuSet::Only(vec![1])), only(&[1])), (1, 0));
        assert_eq!(planned(Some(CpuSet::Only(vec![9])), only(&[3])), (2, 1), "cyclictest ignores it too");
    }

    #[test]
    fn aligned_wake_ups_have_the_offsets_of_cyclictest() {
        let offsets = |aligned_us, second_offset_us| {
            let options = Options { threads: Some(3), aligned_us, second_offset_us, ..Options::default() };
            timer(&options).threads.iter().map(|thread| thread.offset_ns / US).collect::<Vec<_>>()
        };
        assert_eq!(offsets(Some(0), None), [0, 0, 0]);
        assert_eq!(offsets(Some(10), None), [0, 10, 20]);
        assert_eq!(offsets(None, Some(30)), [30, 30, 30]);
    }
}
