//! Late wake-ups of several CPUs at the same moment: a single event, such as a host that stops the whole machine,
//! firmware, or the kernel's own stop_machine.
//!
//! Threads share their deadlines, so wake-ups of the same cycle always overlap. Of the m worst of n cycles on each of
//! two CPUs, m²/n coincide by chance. The number m of wake-ups that are examined per series is such that this is at
//! most 0.05 for all pairs of CPUs together.

use serde::Serialize;
use tardy_record::series::Outlier;
use tardy_record::{Run, Series};

/// The accepted number of coincidences by chance in one phase.
const SIGNIFICANCE: f64 = 0.05;

/// An event that delayed several CPUs.
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
}

/// The events of `run`, in order.
pub fn of(run: &Run) -> Vec<Event> {
    let mut events: Vec<Event> = (0..run.phases.len()).flat_map(|phase| of_phase(run, phase)).collect();
    events.sort_by_key(|event| event.from_ns);
    events
}

fn of_phase(run: &Run, phase: usize) -> Vec<Event> {
    // Unpinned threads are left out, since they do not belong to a CPU.
    let is_of_a_cpu = |series: &&Series| {
        series.is_of_wakeups() && series.timer().is_none_or(|timer| timer.pinned) && series.phase == phase
    };
    let series: Vec<&Series> = run.series.iter().filter(is_of_a_cpu).collect();
    let mut cpus: Vec<u32> = series.iter().map(|series| series.cpu()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.len() < 2 {
        return Vec::new();
    }
    let recorded = series.iter().map(|series| series.tally.recorded).min().unwrap_or(0);
    let pairs = cpus.len() * (cpus.len() - 1) / 2;
    let looked_at = (SIGNIFICANCE * recorded as f64 / pairs as f64).sqrt() as usize;
    let mut late: Vec<(u64, u64, u32, i64)> = Vec::new();
    for series in series {
        let interval = |outlier: &Outlier| {
            let from_ns = outlier.at_ns.saturating_sub(outlier.latency_ns.max(0).unsigned_abs());
            (from_ns, outlier.at_ns, series.cpu(), outlier.latency_ns)
        };
        late.extend(series.worst.iter().take(looked_at).map(interval));
    }
    overlapping(phase, late)
}

/// Groups overlapping late wake-ups, each given as deadline, wake-up, CPU and latency.
fn overlapping(phase: usize, mut late: Vec<(u64, u64, u32, i64)>) -> Vec<Event> {
    late.sort_unstable();
    let mut groups: Vec<Event> = Vec::new();
    for (from_ns, to_ns, cpu, late_ns) in late {
        match groups.last_mut() {
            Some(last) if from_ns <= last.to_ns => {
                last.to_ns = last.to_ns.max(to_ns);
                last.felt.push((cpu, late_ns));
            }
            _ => groups.push(Event { phase, from_ns, to_ns, felt: vec![(cpu, late_ns)] }),
        }
    }
    groups.iter_mut().for_each(keep_the_worst_of_each_cpu);
    groups.retain(|group| group.felt.len() > 1);
    groups
}

/// Keeps only the wake-up with the highest latency if a CPU was late several times within an event.
fn keep_the_worst_of_each_cpu(event: &mut Event) {
    event.felt.sort_unstable_by_key(|(cpu, late_ns)| (*cpu, std::cmp::Reverse(*late_ns)));
    event.felt.dedup_by_key(|(cpu, _)| *cpu);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_wakeups_are_one_event_and_a_single_cpu_is_not() {
        let late = vec![
            (1000, 1300, 0, 300),
            (1050, 1280, 2, 230),
            (1100, 1400, 1, 300),
            // The first CPU again, within the event.
            (1310, 1350, 0, 40),
            // A single CPU.
            (5000, 5300, 1, 300),
        ];
        let events = overlapping(3, late);
        let felt = vec![(0, 300), (1, 300), (2, 230)];
        assert_eq!(events, [Event { phase: 3, from_ns: 1000, to_ns: 1400, felt }]);
    }

    #[test]
    fn consecutive_wakeups_are_not_simultaneous() {
        assert_eq!(overlapping(0, vec![(1000, 1300, 0, 300), (1301, 1500, 1, 199)]), []);
    }
}
