//! Generates the readings of a thread on a machine with a given behaviour.

use tardy_record::block_maxima::BlockMaxima;
use tardy_record::layout::{COARSE, FINE};
use tardy_record::missed_periods::{fill, filled_beyond, filled_sum_ns, missed_behind};
use tardy_record::plan::{ClockId, Policy, Span};
use tardy_record::series::{Change, Level, Outlier, Quantity, SeriesKind, Tally, TimerSeries, WORST_COUNT};
use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_record::slice::Slice;
use tardy_record::threshold::ThresholdCount;
use tardy_record::{Histogram, Knowable, Run, Series};

use super::{INTERVAL, Random, SECOND};

/// Time during which nothing runs.
#[derive(Clone, Copy)]
pub(crate) struct Stall {
    pub(crate) at_ns: u64,
    pub(crate) ns: i64,
}

/// The distribution of a machine's latencies.
#[derive(Clone, Copy)]
pub(crate) struct Behaviour<'a> {
    /// The usual latency.
    pub(crate) base_ns: f64,
    /// Standard deviation of its logarithm.
    pub(crate) spread: f64,
    /// The share of wake-ups that are delayed.
    pub(crate) spike_share: f64,
    /// The least delay; the tail falls off as a power.
    pub(crate) spike_ns: f64,
    pub(crate) stalls: &'a [Stall],
}

struct Counts {
    negative: Vec<u64>,
    positive: Vec<u64>,
}

impl Counts {
    fn new() -> Self {
        Self { negative: vec![0; FINE.bin_count()], positive: vec![0; FINE.bin_count()] }
    }

    fn add(&mut self, value: i64) {
        let side = if value < 0 { &mut self.negative } else { &mut self.positive };
        side[FINE.index(value.unsigned_abs())] += 1;
    }

    fn histogram(&self) -> Histogram {
        Histogram::from_dense(FINE, &self.negative, &self.positive)
    }
}

/// A series that has recorded nothing yet.
pub(crate) fn empty_series(run: &Run, phase: usize, cpu: u32) -> Series {
    let timer = run.plan.phases[phase].probe.timer().expect("made runs are of timers");
    Series {
        label: format!("cpu {cpu}"),
        phase,
        quantity: Quantity::Latency,
        level: Level::UserThread,
        counted_ns: 0,
        tally: Tally {
            attempted: Knowable::Known(0),
            recorded: 0,
            missed: Knowable::Known(0),
            dropped: Knowable::Known(0),
        },
        min_ns: None,
        max_ns: None,
        max_at_ns: None,
        sum_ns: Knowable::Known(0),
        sum_of_squares_ns2: Knowable::Known(0),
        max_at_least: false,
        missed_sum_ns: 0,
        measured: Histogram::default(),
        corrected: timer.wake.has_schedule().then(Histogram::default),
        slices: Vec::new(),
        block_maxima: BlockMaxima::default(),
        thresholds: Vec::new(),
        worst: Vec::new(),
        kind: SeriesKind::Timer(TimerSeries {
            cpu,
            pinned: true,
            wake: timer.wake,
            clock: ClockId::Monotonic,
            policy: Policy::Fifo,
            priority: 80,
            interval_ns: INTERVAL,
            kernel_overruns: None,
            causes: None,
        }),
    }
}

/// The series of a thread on `cpu` in `phase`.
pub(crate) fn timer_series(run: &Run, phase: usize, cpu: u32, behaviour: &Behaviour) -> Series {
    let mut series = empty_series(run, phase, cpu);
    let Span::DurationNs(length) = run.plan.phases[phase].span else {
        panic!("synthetic phases have a duration")
    };
    let start = run.phases[phase].start_ns;
    let mut random =
        Random(0x9e37_79b9 + u64::from(cpu) * 77 + phase as u64 * 1001 + behaviour.base_ns as u64);
    let (mut measured, mut corrected, mut slice) = (Counts::new(), Counts::new(), Counts::new());
    let (block_ns, slice_ns) = (SECOND / 5, (length / 60).max(SECOND / 4));
    let mut blocks = vec![None; length.div_ceil(block_ns) as usize];
    let mut late = ThresholdCount {
        limit_ns: 1_000_000,
        measured: 0,
        corrected: series.corrected.as_ref().map(|_| 0),
        clusters: 0,
        cluster_gap_cycles: 10,
        sum_of_squared_block_counts: 0,
        blocks: length / SECOND,
        block_ns: SECOND,
    };
    let (mut cycle, mut missed, mut slice_start) = (0, 0, 0);
    while cycle * INTERVAL < length {
        let due = cycle * INTERVAL;
        let latency = latency(&mut random, behaviour, start + due);
        let behind = if series.corrected.is_some() { missed_behind(latency, INTERVAL) } else { 0 };
        let at = due + latency.max(0) as u64;
        measured.add(latency);
        corrected.add(latency);
        slice.add(latency);
        fill(latency, INTERVAL, behind, |bin, count| {
            corrected.positive[bin] += count;
            slice.positive[bin] += count;
        });
        if latency > 1_000_000 {
            let filled = 1 + filled_beyond(latency, INTERVAL, behind, 1_000_000);
            late.measured += 1;
            late.clusters += 1;
            late.corrected = late.corrected.map(|count| count + filled);
            late.sum_of_squared_block_counts += filled * filled;
        }
        if let Some(block) = blocks.get_mut((at / block_ns) as usize) {
            *block = (*block).max(Some(latency));
        }
        note(&mut series, latency, start + at, cycle);
        series.missed_sum_ns += filled_sum_ns(latency, INTERVAL, behind);
        missed += behind;
        cycle += 1 + behind;
        if due + INTERVAL >= slice_start + slice_ns {
            let histogram = std::mem::replace(&mut slice, Counts::new()).histogram().coarsened(COARSE);
            series.slices.push(Slice {
                start_ns: start + slice_start,
                end_ns: start + due + INTERVAL,
                histogram,
            });
            slice_start = due + INTERVAL;
        }
    }
    series.counted_ns = length;
    series.tally.attempted = Knowable::Known(series.tally.recorded + missed);
    series.tally.missed =
        if series.corrected.is_some() { Knowable::Known(missed) } else { Knowable::Unknown };
    series.measured = measured.histogram();
    series.corrected = series.corrected.map(|_| corrected.histogram());
    series.block_maxima = BlockMaxima { start_ns: start, block_ns, maxima_ns: blocks };
    series.thresholds = vec![late];
    explain(&mut series);
    series
}

/// The series of a thread on `cpu`: 4 us, and an exponential tail of 2 us.
pub(crate) fn steady_series(run: &Run, cpu: u32) -> Series {
    let (empty, phase) = (empty_series(run, 0, cpu), &run.phases[0]);
    let length = phase.end_ns.unwrap_or(0) - phase.start_ns;
    let mut builder = SeriesBuilder::new(phase.start_ns, Some(INTERVAL), length, &run.plan.thresholds_ns);
    let mut random = Random(0x51ed_2701 + u64::from(cpu));
    for cycle in 0..length / INTERVAL {
        let value_ns = (4_000.0 - 2_000.0 * libm::log(1.0 - random.share())) as i64;
        builder.record(Reading { value_ns, at_ns: phase.start_ns + cycle * INTERVAL, cycle, missed: 0 });
    }
    let series = builder.series(empty.label, 0, empty.quantity, empty.level, empty.kind);
    Series { counted_ns: length, ..series }
}

fn latency(random: &mut Random, behaviour: &Behaviour, at: u64) -> i64 {
    if let Some(stall) =
        behaviour.stalls.iter().find(|stall| stall.at_ns <= at && at < stall.at_ns + INTERVAL)
    {
        return stall.ns;
    }
    let usual = behaviour.base_ns * libm::exp(behaviour.spread * random.normal()) - behaviour.base_ns * 0.1;
    if random.share() < behaviour.spike_share {
        let tail = libm::pow(1.0 - random.share(), -0.28);
        return (usual + behaviour.spike_ns * tail) as i64;
    }
    usual as i64 - if behaviour.base_ns < 1000.0 { 120 } else { 0 }
}

fn note(series: &mut Series, latency: i64, at_ns: u64, cycle: u64) {
    series.tally.recorded += 1;
    series.sum_ns = series.sum_ns.get().map(|sum| sum + latency).into();
    let square = u128::from(latency.unsigned_abs()).pow(2);
    series.sum_of_squares_ns2 = series.sum_of_squares_ns2.get().map(|sum| sum + square).into();
    series.min_ns = Some(series.min_ns.map_or(latency, |min| min.min(latency)));
    if series.max_ns.is_none_or(|max| latency > max) {
        series.max_ns = Some(latency);
        series.max_at_ns = Some(at_ns);
    }
    let worst = &mut series.worst;
    if worst.len() < WORST_COUNT || worst.last().is_some_and(|last| last.latency_ns < latency) {
        let at = worst.partition_point(|other| other.latency_ns >= latency);
        worst.insert(
            at,
            Outlier { latency_ns: latency, at_ns, cycle, around: Vec::new(), overlaps: None, moment: None },
        );
        worst.truncate(WORST_COUNT);
    }
}

/// Adds the changes that watchers recorded around the worst readings.
fn explain(series: &mut Series) {
    for outlier in series.worst.iter_mut().take(5) {
        let change =
            |what: &str, by, usual, unit: &str| Change { what: what.into(), by, usual, unit: unit.into() };
        outlier.around = vec![
            change("irq 39 dwc_otg, cpu 0", 14_212.0, 8_003.0, "interrupts"),
            change("softirq NET_RX, cpu 1", 3_120.0, 12.0, ""),
            change("kernel thread irq/39-dwc_otg", 0.41, 0.29, "s of CPU time"),
        ];
    }
}
