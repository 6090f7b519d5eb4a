//! Generates a run of a day on many CPUs, from the distribution instead of from each reading.

use tardy_record::block_maxima::{BLOCK_COUNT, BlockMaxima};
use tardy_record::environment::{EnvSeries, Merge, SourceTotal};
use tardy_record::histogram::Histogram;
use tardy_record::layout::{COARSE, FINE};
use tardy_record::plan::{ProbePlan, ThreadPlan, Wake};
use tardy_record::run::State;
use tardy_record::series::{Change, Outlier, WORST_COUNT};
use tardy_record::slice::{SLICE_COUNT, Slice};
use tardy_record::threshold::ThresholdCount;
use tardy_record::{Knowable, Run, Series};

use super::environment::{self, doload};
use super::machine::facts;
use super::readings::empty_series;
use super::{INTERVAL, Random, SECOND, bare, finish};

/// The usual latency in ns.
const BASE_NS: f64 = 5_200.0;
/// Standard deviation of its logarithm.
const SPREAD: f64 = 0.2;
/// The exponent of the tail: of `n` readings the highest is about `n` to this power.
const TAIL: f64 = 0.11;

/// A run of `hours` on `cpus` CPUs, one reading per millisecond on each. The worst CPU is the one before the middle.
pub(crate) fn many_cpus(cpus: u32, hours: u64) -> Run {
    let length = hours * 3600 * SECOND;
    let mut run = bare("many", facts(true), &[(Wake::ClockNanosleep, 1, length, vec!["doload".into()])]);
    run.origin.host = "epyc".into();
    run.facts.cpu.online.value = Knowable::Known((0..cpus).collect());
    let governor = (0..cpus).map(|cpu| (cpu, "performance".to_owned()));
    run.facts.cpu.governor.value = Knowable::Known(governor.collect());
    if let ProbePlan::Timer(timer) = &mut run.plan.phases[0].probe {
        let thread =
            |cpu| ThreadPlan { cpu, pinned: true, priority: 80, interval_ns: INTERVAL, offset_ns: 0 };
        timer.threads = (0..cpus).map(thread).collect();
    }
    run.series = (0..cpus).map(|cpu| series(&run, cpu, cpus, length)).collect();
    run.loads = doload(600, 0, None);
    run.environment = environment::environment(600);
    run.environment.series.retain(|series| series.cpu.is_none());
    // Ten minutes are stretched to the whole run.
    let stretched = |at_ns: &mut u64| *at_ns = at_ns.saturating_sub(SECOND) * hours * 6 + SECOND;
    run.environment.series.iter_mut().flat_map(|series| &mut series.at_ns).for_each(stretched);
    // Without the bursts of the network load.
    run.loads[0].parts.retain(|part| part.burst_every_ns.is_none());
    for part in run.loads.iter_mut().flat_map(|load| &mut load.parts) {
        part.at_ns.iter_mut().for_each(stretched);
        part.done.iter_mut().for_each(|done| *done *= hours * 6);
    }
    let mut random = Random(31);
    for (name, unit, merge, usual) in [
        ("frequency", "MHz", Merge::Min, 2_450.0),
        ("interrupts", "1/s", Merge::Mean, 1_250.0),
        ("context switches", "1/s", Merge::Mean, 2_100.0),
    ] {
        for cpu in 0..cpus {
            let mut one = EnvSeries {
                name: name.into(),
                of: String::new(),
                cpu: Some(cpu),
                unit: unit.into(),
                merge,
                at_ns: Vec::new(),
                values: Vec::new(),
            };
            for point in 1..=320 {
                one.push(SECOND + length / 320 * point, (usual * (1.0 + 0.03 * random.normal())).round());
            }
            run.environment.series.push(one);
        }
    }
    run.environment.interrupts = (0..60)
        .map(|irq| SourceTotal {
            source: irq.to_string(),
            description: format!("PCI-MSI nvme0q{irq}"),
            per_cpu: (0..cpus).map(|cpu| (cpu, u64::from(cpu * 31 + irq) * 1_000)).collect(),
        })
        .collect();
    finish(run, State::Complete)
}

fn series(run: &Run, cpu: u32, cpus: u32, length: u64) -> Series {
    let start = run.phases[0].start_ns;
    let mut random = Random(0x51ed_2701 + u64::from(cpu) * 7919);
    let mut series = empty_series(run, 0, cpu);
    let mut block_ns = SECOND / 10;
    while length.div_ceil(block_ns) > BLOCK_COUNT as u64 {
        block_ns *= 2;
    }
    let blocks = length.div_ceil(block_ns);
    let is_worst = cpu == cpus / 2 - 2;
    let spike_ns = BASE_NS * if is_worst { 3.4 } else { 2.2 + 0.5 * random.share() };
    let maxima: Vec<i64> = (0..blocks)
        .map(|block| {
            // For two hours in twelve, the CPUs of the third quarter are disturbed.
            let is_disturbed = cpu * 4 / cpus == 2 && block * 12 / blocks == 5;
            let factor = match is_worst && block.is_multiple_of(97) {
                true => 7.0,
                false if is_disturbed => 2.6,
                false => 1.0,
            };
            (spike_ns * factor * libm::pow(1.0 - random.share(), -TAIL)) as i64
        })
        .collect();
    let least = *maxima.iter().min().expect("there is a block") as f64;
    let recorded = length / INTERVAL;
    let body = |count: u64, random: &mut Random| -> Vec<u64> {
        let mut bins = vec![0; FINE.bin_count()];
        let density = |ns: f64| {
            let deviations = libm::log(ns / BASE_NS) / SPREAD;
            libm::exp(-0.5 * deviations * deviations) / (ns * SPREAD * (2.0 * std::f64::consts::PI).sqrt())
        };
        for (index, bin) in bins.iter_mut().enumerate() {
            let (lower, upper) = FINE.edges(index);
            let (lower, upper) = (lower as f64, upper as f64);
            if lower > 500.0 && upper <= least {
                let expected = count as f64 * (upper - lower) * density((lower + upper) / 2.0);
                *bin = (expected + random.share()) as u64;
            }
        }
        let held: u64 = bins.iter().sum();
        let usual = &mut bins[FINE.index(BASE_NS as u64)];
        *usual = (*usual + count).checked_sub(held).expect("most readings are usual ones");
        bins
    };
    let with_maxima = |mut bins: Vec<u64>, maxima: &[i64]| {
        for max in maxima {
            bins[FINE.index(*max as u64)] += 1;
        }
        Histogram::from_dense(FINE, &vec![0; FINE.bin_count()], &bins)
    };
    series.measured = with_maxima(body(recorded - blocks, &mut random), &maxima);
    let per_slice = (blocks as usize).div_ceil(SLICE_COUNT);
    for (number, of_slice) in maxima.chunks(per_slice).enumerate() {
        let from = (number * per_slice) as u64 * block_ns;
        let to = (from + of_slice.len() as u64 * block_ns).min(length);
        let count = (to - from) / INTERVAL - of_slice.len() as u64;
        let histogram = with_maxima(body(count, &mut random), of_slice).coarsened(COARSE);
        series.slices.push(Slice { start_ns: start + from, end_ns: start + to, histogram });
    }
    series.counted_ns = length;
    series.tally.recorded = series.measured.total();
    series.tally.attempted = Knowable::Known(series.tally.recorded);
    series.corrected = Some(series.measured.clone());
    series.min_ns = series.measured.bins().first().map(|bin| bin.lower_ns);
    let mean = |bin: &tardy_record::Bin| i64::midpoint(bin.lower_ns, bin.upper_ns) * bin.count as i64;
    series.sum_ns = Knowable::Known(series.measured.bins().iter().map(mean).sum());
    let mut order: Vec<usize> = (0..maxima.len()).collect();
    order.sort_by_key(|block| std::cmp::Reverse(maxima[*block]));
    series.worst = order
        .iter()
        .take(WORST_COUNT)
        .map(|block| outlier(start, *block as u64, block_ns, maxima[*block]))
        .collect();
    series.max_ns = Some(series.worst[0].latency_ns);
    series.max_at_ns = Some(series.worst[0].at_ns);
    series.block_maxima =
        BlockMaxima { start_ns: start, block_ns, maxima_ns: maxima.into_iter().map(Some).collect() };
    series.thresholds = vec![ThresholdCount {
        limit_ns: 1_000_000,
        measured: 0,
        corrected: Some(0),
        clusters: 0,
        cluster_gap_cycles: 10,
        sum_of_squared_block_counts: 0,
        blocks: length / SECOND,
        block_ns: SECOND,
    }];
    series
}

fn outlier(start: u64, block: u64, block_ns: u64, latency_ns: i64) -> Outlier {
    let into = block * block_ns + block_ns / 3;
    let change = |what: &str, by, usual| Change { what: what.into(), by, usual, unit: String::new() };
    let around = if block.is_multiple_of(5) {
        vec![change("irq 39 nvme0q39", 14_212.0, 8_003.0), change("softirq NET_RX", 3_120.0, 12.0)]
    } else {
        Vec::new()
    };
    Outlier { latency_ns, at_ns: start + into, cycle: into / INTERVAL, around, overlaps: None, moment: None }
}
