//! Late wake-ups of several CPUs at the same time, and whether a single event explains them: a host that stops the whole
//! machine, firmware, or the kernel's own stop_machine.
//!
//! Two conditions must be met. First, chance is excluded. If the late wake-ups of two CPUs were independent, one that lasts `a`
//! would overlap one that lasts `b`, in a phase of length `T`, with a probability of at most `(a + b + p) / T`; `p` is the
//! interval, since threads that share their deadlines are late in whole cycles. The sum over all pairs is the expected number
//! of overlaps by chance. In each series, only as many of the worst are examined as keep that number below 0.05 for the whole
//! run. Second, the CPUs ran again at the same time, as they do after a stop.

use serde::Serialize;
use tardy_record::series::Outlier;
use tardy_record::{Run, Series};

/// The accepted number of overlaps by chance in one run.
const SIGNIFICANCE: f64 = 0.05;
/// After a stop of all CPUs, their threads run again within this time, in ns, plus [`AGAIN_SHARE`] of the latency.
const AGAIN_NS: u64 = 50_000;
/// See [`AGAIN_NS`].
const AGAIN_SHARE: f64 = 0.05;

/// Late wake-ups of several CPUs that overlap.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// Index of the phase.
    pub phase: usize,
    /// The earliest deadline of the late wake-ups, in ns from the start of the run.
    pub from_ns: u64,
    /// The time of the latest wake-up, in ns from the start of the run.
    pub to_ns: u64,
    /// Each CPU and the latency of its thread, in ns.
    pub felt: Vec<(u32, i64)>,
    /// Whether a single stop of all these CPUs explains it: chance is excluded, and they ran again at the same time.
    pub is_one_stop: bool,
}

/// A late wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Late {
    due_ns: u64,
    ran_ns: u64,
    cpu: u32,
    late_ns: i64,
}

/// The worst wake-ups of one CPU in a phase, worst first.
struct Cpu {
    worst: Vec<Late>,
    interval_ns: u64,
}

/// The events of `run`, in order.
pub fn of(run: &Run) -> Vec<Event> {
    let share = SIGNIFICANCE / run.phases.len().max(1) as f64;
    let mut events: Vec<Event> =
        (0..run.phases.len()).flat_map(|phase| of_phase(run, phase, share)).collect();
    events.sort_by_key(|event| event.from_ns);
    events
}

fn of_phase(run: &Run, phase: usize, significance: f64) -> Vec<Event> {
    // Unpinned threads are left out, since they do not belong to a CPU.
    let is_of_a_cpu = |series: &&Series| {
        series.is_of_wakeups() && series.timer().is_none_or(|timer| timer.pinned) && series.phase == phase
    };
    let series: Vec<&Series> = run.series.iter().filter(is_of_a_cpu).collect();
    let length_ns = series.iter().map(|series| series.counted_ns).max().unwrap_or(0);
    events(phase, &by_cpu(&series), length_ns, significance)
}

fn by_cpu(series: &[&Series]) -> Vec<Cpu> {
    let late = |cpu: u32, outlier: &Outlier| Late {
        due_ns: outlier.at_ns.saturating_sub(outlier.latency_ns.max(0).unsigned_abs()),
        ran_ns: outlier.at_ns,
        cpu,
        late_ns: outlier.latency_ns,
    };
    let mut numbers: Vec<u32> = series.iter().map(|series| series.cpu()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let cpu = |number: u32| {
        let of_it = || series.iter().filter(move |series| series.cpu() == number);
        let mut worst: Vec<Late> =
            of_it().flat_map(|series| series.worst.iter().map(|one| late(number, one))).collect();
        worst.sort_by_key(|late| std::cmp::Reverse(late.late_ns));
        let interval_ns = of_it().filter_map(|series| series.timer()).map(|timer| timer.interval_ns).max();
        Cpu { worst, interval_ns: interval_ns.unwrap_or(0) }
    };
    numbers.into_iter().map(cpu).collect()
}

/// The events among the worst wake-ups of `cpus` in a phase of this length.
fn events(phase: usize, cpus: &[Cpu], length_ns: u64, significance: f64) -> Vec<Event> {
    let examined = examined(cpus, length_ns, significance);
    // The worst of each CPU is always examined, but does not show a cause unless chance is excluded.
    let depth = examined.max(1);
    let late = cpus.iter().flat_map(|cpu| cpu.worst.iter().take(depth).copied()).collect();
    let mut groups = overlapping(phase, late);
    groups.iter_mut().for_each(|(event, of_it)| {
        event.is_one_stop = examined > 0 && ran_again_together(of_it);
    });
    groups.into_iter().map(|(event, _)| event).collect()
}

/// How many of the worst of each CPU can be examined so that fewer than `significance` overlaps are expected by chance.
fn examined(cpus: &[Cpu], length_ns: u64, significance: f64) -> usize {
    let most = cpus.iter().map(|cpu| cpu.worst.len()).max().unwrap_or(0);
    let by_chance = |depth: usize| -> f64 {
        let pairs =
            cpus.iter().enumerate().flat_map(|(index, a)| cpus[index + 1..].iter().map(move |b| (a, b)));
        let expected = pairs.map(|(a, b)| {
            let total =
                |cpu: &Cpu| cpu.worst.iter().take(depth).map(|late| late.late_ns.max(0) as f64).sum::<f64>();
            let count = |cpu: &Cpu| cpu.worst.len().min(depth) as f64;
            let interval_ns = a.interval_ns.max(b.interval_ns) as f64;
            total(a) * count(b) + total(b) * count(a) + interval_ns * count(a) * count(b)
        });
        expected.sum::<f64>() / length_ns.max(1) as f64
    };
    (1..=most).take_while(|depth| by_chance(*depth) <= significance).last().unwrap_or(0)
}

/// Groups overlapping late wake-ups of different CPUs.
fn overlapping(phase: usize, mut late: Vec<Late>) -> Vec<(Event, Vec<Late>)> {
    late.sort_unstable();
    let mut groups: Vec<(u64, Vec<Late>)> = Vec::new();
    for one in late {
        match groups.last_mut() {
            Some((to_ns, group)) if one.due_ns <= *to_ns => {
                *to_ns = one.ran_ns.max(*to_ns);
                group.push(one);
            }
            _ => groups.push((one.ran_ns, vec![one])),
        }
    }
    let event = |(to_ns, mut group): (u64, Vec<Late>)| {
        let from_ns = group.iter().map(|late| late.due_ns).min()?;
        // The highest latency counts if a CPU was late several times within an event.
        group.sort_unstable_by_key(|late| (late.cpu, std::cmp::Reverse(late.late_ns)));
        group.dedup_by_key(|late| late.cpu);
        let felt: Vec<(u32, i64)> = group.iter().map(|late| (late.cpu, late.late_ns)).collect();
        (felt.len() > 1).then_some((Event { phase, from_ns, to_ns, felt, is_one_stop: false }, group))
    };
    groups.into_iter().filter_map(event).collect()
}

fn ran_again_together(late: &[Late]) -> bool {
    let ran = || late.iter().map(|late| late.ran_ns);
    let (Some(first), Some(last)) = (ran().min(), ran().max()) else { return false };
    let shortest = late.iter().map(|late| late.late_ns.max(0)).min().unwrap_or(0);
    last - first <= AGAIN_NS + (shortest as f64 * AGAIN_SHARE) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const MINUTE_NS: u64 = 60_000 * MS;

    fn late(cpu: u32, ran_ns: u64, late_ns: u64) -> Late {
        Late { due_ns: ran_ns - late_ns, ran_ns, cpu, late_ns: late_ns.cast_signed() }
    }

    fn cpu(worst: &[Late]) -> Cpu {
        Cpu { worst: worst.to_vec(), interval_ns: MS }
    }

    #[test]
    fn overlapping_wake_ups_are_one_event_and_a_single_cpu_is_not() {
        let late = vec![
            late(0, 1300, 300),
            late(2, 1280, 230),
            late(1, 1400, 300),
            // The first CPU again, within the event.
            late(0, 1350, 40),
            // A single CPU.
            late(1, 5300, 300),
        ];
        let events: Vec<Event> = overlapping(3, late).into_iter().map(|(event, _)| event).collect();
        let felt = vec![(0, 300), (1, 300), (2, 230)];
        assert_eq!(events, [Event { phase: 3, from_ns: 1000, to_ns: 1400, felt, is_one_stop: false }]);
    }

    #[test]
    fn consecutive_wake_ups_are_not_simultaneous() {
        assert_eq!(overlapping(0, vec![late(0, 1300, 300), late(1, 1500, 199)]), []);
    }

    #[test]
    fn a_stop_ends_for_all_cpus_at_once() {
        let stop = [cpu(&[late(0, 20 * MS, 3 * MS)]), cpu(&[late(1, 20 * MS + 40_000, 2 * MS)])];
        assert!(events(0, &stop, MINUTE_NS, 0.05)[0].is_one_stop);
        let two = [cpu(&[late(0, 20 * MS, 3 * MS)]), cpu(&[late(1, 21 * MS, 2 * MS)])];
        assert!(!events(0, &two, MINUTE_NS, 0.05)[0].is_one_stop, "one ran 1 ms before the other");
    }

    #[test]
    fn long_latencies_overlap_often() {
        // 197 ms and 8 ms, in ten seconds of a run without a real-time policy.
        let common = [cpu(&[late(0, 5000 * MS, 197 * MS); 8]), cpu(&[late(1, 5000 * MS, 8 * MS); 8])];
        assert_eq!(examined(&common, 10_000 * MS, 0.05), 1);
        assert_eq!(examined(&common, 1000 * MS, 0.05), 0);
        let found = events(0, &common, 1000 * MS, 0.05);
        assert_eq!((found.len(), found[0].is_one_stop), (1, false), "it is shown without a cause");
    }

    #[test]
    fn independent_stalls_are_rarely_called_one_stop() {
        // Stalls of 1 to 9 ms on two CPUs at random: 300 runs of a minute.
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 16) % below
        };
        let mut wrong = 0;
        for _ in 0..300 {
            let mut stalls = |number: u32| {
                let mut worst: Vec<Late> =
                    (0..64).map(|_| late(number, 10 * MS + random(MINUTE_NS), MS + random(8 * MS))).collect();
                worst.sort_by_key(|late| std::cmp::Reverse(late.late_ns));
                cpu(&worst)
            };
            let cpus = [stalls(0), stalls(1)];
            wrong += usize::from(events(0, &cpus, MINUTE_NS, 0.05).iter().any(|event| event.is_one_stop));
        }
        assert!(wrong <= 6, "{wrong} of 300");
    }
}
