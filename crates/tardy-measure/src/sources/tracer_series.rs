//! Series from a tracer's samples.

use std::collections::BTreeMap;

use tardy_record::Series;
use tardy_record::missed_periods::missed_behind;
use tardy_record::plan::{Tracer, TracerPlan};
use tardy_record::series::{Change, Level, NoiseSeries, Quantity, SeriesKind, TraceSeries, TraceSource};
use tardy_record::series_builder::{Reading, SeriesBuilder};

use tardy_host::trace::levels::label;
use tardy_host::trace::tracers::Sample;

/// The levels of timerlat, lowest first.
const LEVELS: [Level; 3] = [Level::Irq, Level::KernelThread, Level::UserThread];

/// The series of one phase. Times are ns from the start of the run.
pub(super) struct TracerSeries {
    plan: TracerPlan,
    /// Highest level of timerlat, whose series is the main one.
    highest: Level,
    /// By CPU and level; noise is kept under the level of the kernel's thread.
    counts: BTreeMap<(u32, Level), Count>,
    lost_events: u64,
}

#[derive(Clone, Debug)]
struct Count {
    builder: SeriesBuilder,
    next_cycle: u64,
    last_number: Option<u64>,
    longest_ns: u64,
    by_source: BTreeMap<String, u64>,
}

impl TracerSeries {
    /// Series that count from `start_ns`, for about `planned_ns`.
    pub(super) fn new(
        plan: &TracerPlan,
        has_user_thread: bool,
        start_ns: u64,
        planned_ns: u64,
        thresholds_ns: &[u64],
    ) -> Self {
        let highest = if has_user_thread { Level::UserThread } else { Level::KernelThread };
        let (interval_ns, thresholds_ns) = match plan.tracer {
            Tracer::Timerlat => (Some(plan.period_ns), thresholds_ns),
            Tracer::Osnoise | Tracer::Hwlat => (None, &[][..]),
        };
        let count = Count {
            builder: SeriesBuilder::new(start_ns, interval_ns, planned_ns, thresholds_ns),
            next_cycle: 0,
            last_number: None,
            longest_ns: 0,
            by_source: BTreeMap::new(),
        };
        let levels = match plan.tracer {
            Tracer::Timerlat => LEVELS.into_iter().filter(|level| *level <= highest).collect(),
            Tracer::Osnoise | Tracer::Hwlat => vec![Level::KernelThread],
        };
        let keys = plan.cpus.iter().flat_map(|cpu| levels.iter().map(move |level| (*cpu, *level)));
        let counts = keys.map(|key| (key, count.clone())).collect();
        Self { plan: plan.clone(), highest, counts, lost_events: 0 }
    }

    /// Adds a sample of `cpu` that came at `at_ns`.
    pub(super) fn add(&mut self, cpu: u32, at_ns: u64, sample: Sample) {
        match sample {
            Sample::Latency { number, level, late_ns } => {
                let Some(count) = self.counts.get_mut(&(cpu, level)) else { return };
                // Activations are numbered; missing numbers were lost.
                let lost = count.last_number.map_or(0, |last| number.saturating_sub(last + 1));
                count.last_number = Some(number);
                count.builder.drop_readings(lost);
                let missed = missed_behind(late_ns, self.plan.period_ns);
                let cycle = count.next_cycle + lost;
                count.builder.record(Reading { value_ns: late_ns, at_ns, cycle, missed });
                count.next_cycle = cycle + 1 + missed;
            }
            Sample::Noise { noise_ns, longest_ns, by_source } => {
                let Some(count) = self.counts.get_mut(&(cpu, Level::KernelThread)) else { return };
                let cycle = count.next_cycle;
                count.builder.record(Reading { value_ns: noise_ns, at_ns, cycle, missed: 0 });
                count.next_cycle += 1;
                count.longest_ns = count.longest_ns.max(longest_ns);
                for (source, times) in by_source {
                    *count.by_source.entry(source.to_owned()).or_default() += times;
                }
            }
        }
    }

    /// Sets the number of entries that the kernel's buffers lost.
    pub(super) fn set_lost_events(&mut self, lost_events: u64) {
        self.lost_events = lost_events;
    }

    /// Attaches the watchers' changes to the worst samples that came at or after `since_ns`.
    pub(super) fn annotate_worst(&mut self, since_ns: u64, changes: &[Change]) {
        self.counts.values_mut().for_each(|count| count.builder.annotate_worst(since_ns, changes));
    }

    /// The highest value so far and its CPU, of the series that do not accompany others.
    pub(super) fn worst(&self) -> Option<(i64, u32)> {
        let own = self.counts.iter().filter(|((_, level), _)| self.is_own(*level));
        own.filter_map(|((cpu, _), count)| Some((count.builder.max_ns()?, *cpu))).max()
    }

    fn is_own(&self, level: Level) -> bool {
        self.plan.tracer != Tracer::Timerlat || level == self.highest
    }

    /// The series so far, CPU by CPU; the main series precede the accompanying ones.
    pub(super) fn series(&self, phase: usize) -> Vec<Series> {
        let series = |((cpu, level), count): (&(u32, Level), &Count)| {
            let own = self.is_own(*level);
            let name = if own { format!("cpu {cpu}") } else { label(*cpu, *level) };
            count.builder.series(name, phase, self.quantity(), *level, self.kind(*cpu, own, count))
        };
        let mut all: Vec<Series> = self.counts.iter().map(series).collect();
        all.sort_by_key(Series::stands_beside);
        all
    }

    fn quantity(&self) -> Quantity {
        if self.plan.tracer == Tracer::Timerlat { Quantity::Latency } else { Quantity::Noise }
    }

    fn kind(&self, cpu: u32, own: bool, count: &Count) -> SeriesKind {
        if self.plan.tracer == Tracer::Timerlat {
            return SeriesKind::Trace(TraceSeries {
                cpu,
                source: TraceSource::Timerlat,
                interval_ns: self.plan.period_ns,
                beside: !own,
                lost_events: self.lost_events,
            });
        }
        SeriesKind::Noise(NoiseSeries {
            cpu,
            tracer: self.plan.tracer,
            period_ns: self.plan.period_ns,
            runtime_ns: self.plan.runtime_ns.unwrap_or(self.plan.period_ns),
            threshold_ns: self.plan.threshold_ns.unwrap_or(0),
            longest_ns: (count.builder.recorded() > 0).then_some(count.longest_ns),
            by_source: count.by_source.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(tracer: Tracer) -> TracerPlan {
        TracerPlan {
            tracer,
            cpus: vec![1],
            period_ns: 1000,
            runtime_ns: None,
            priority: Some(90),
            threshold_ns: None,
        }
    }

    #[test]
    fn the_highest_level_is_the_main_series_and_missing_numbers_are_dropped() {
        let mut all = TracerSeries::new(&plan(Tracer::Timerlat), true, 0, 0, &[]);
        for (number, late_ns) in [(5, 100), (6, 2500), (9, 100)] {
            all.add(1, number * 1000, Sample::Latency { number, level: Level::UserThread, late_ns });
            all.add(1, number * 1000, Sample::Latency { number, level: Level::Irq, late_ns: 10 });
            all.add(2, number * 1000, Sample::Latency { number, level: Level::Irq, late_ns: 10 });
        }
        let series = all.series(0);
        let labels: Vec<&str> = series.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(labels, ["cpu 1", "cpu 1, timer IRQ", "cpu 1, kernel thread"]);
        let tally = series[0].tally;
        assert_eq!((tally.recorded, tally.missed.get(), tally.dropped.get()), (3, Some(2), Some(2)));
        assert!(series[0].is_of_wakeups() && !series[1].is_of_wakeups());
    }

    #[test]
    fn noise_is_not_a_latency() {
        let mut all = TracerSeries::new(&plan(Tracer::Osnoise), false, 0, 0, &[]);
        let by_source = BTreeMap::from([("irq", 3)]);
        all.add(1, 5, Sample::Noise { noise_ns: 700, longest_ns: 400, by_source: by_source.clone() });
        all.add(1, 9, Sample::Noise { noise_ns: 100, longest_ns: 100, by_source });
        let series = all.series(0);
        assert_eq!((series.len(), series[0].quantity, series[0].max_ns), (1, Quantity::Noise, Some(700)));
        let SeriesKind::Noise(noise) = &series[0].kind else { unreachable!() };
        assert_eq!((noise.longest_ns, noise.by_source["irq"]), (Some(400), 6));
    }
}
