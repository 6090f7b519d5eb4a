//! Synthetic runs for tests: boots whose latencies are exponential, with a scale of their own.

use tardy_record::block_maxima::BlockMaxima;
use tardy_record::facts::Fact;
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::{ClockId, PhasePlan, Plan, Policy, ProbePlan, Span, ThreadPlan, TimerPlan, Wake};
use tardy_record::run::{Origin, Phase, Progress, SCHEMA_VERSION, State, Validity};
use tardy_record::series::{Level, Quantity, SeriesKind, Tally, TimerSeries};
use tardy_record::{Histogram, Knowable, Run, Series};

/// The measured time of a phase, in ns.
pub(super) const MEASURED_NS: u64 = 10_000_000_000;
const INTERVAL_NS: u64 = 1_000_000;

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub(super) struct Random(pub(super) u64);

impl Random {
    /// Uniform between 0 and 1, neither included.
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1e-17
    }

    fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }
}

/// A series with these bins, each a lower edge, an upper edge and a count.
pub(super) fn series(label: &str, bins: &[(i64, i64, u64)], phase: usize) -> Series {
    let measured = Histogram::from_bins(bins.iter().map(|bin| (*bin).into()).collect()).unwrap();
    let recorded = measured.total();
    let max_ns = bins.last().map(|bin| bin.1 - 1);
    Series {
        label: label.to_owned(),
        phase,
        quantity: Quantity::Latency,
        level: Level::UserThread,
        counted_ns: MEASURED_NS,
        tally: Tally {
            attempted: Knowable::Known(recorded),
            recorded,
            missed: Knowable::Known(0),
            dropped: Knowable::Known(0),
        },
        min_ns: bins.first().map(|bin| bin.0),
        max_ns,
        max_at_least: false,
        max_at_ns: None,
        sum_ns: Knowable::Known(bins.iter().map(|bin| bin.0 * bin.2 as i64).sum()),
        sum_of_squares_ns2: Knowable::Unknown,
        missed_sum_ns: 0,
        corrected: Some(measured.clone()),
        measured,
        slices: Vec::new(),
        block_maxima: BlockMaxima::default(),
        thresholds: Vec::new(),
        worst: Vec::new(),
        kind: SeriesKind::Timer(TimerSeries {
            cpu: 0,
            pinned: true,
            wake: Wake::ClockNanosleep,
            clock: ClockId::Monotonic,
            policy: Policy::Fifo,
            priority: 80,
            interval_ns: INTERVAL_NS,
            kernel_overruns: None,
            causes: None,
        }),
    }
}

/// A run of two phases, idle and loaded, on a machine whose facts are all known to be the same.
pub(super) fn run(boot: &str, idle: &[(i64, i64, u64)], loaded: &[(i64, i64, u64)]) -> Run {
    let mut run = Run::begun(
        Origin {
            id: format!("run-{boot}"),
            host: "board".to_owned(),
            boot_id: format!("boot-{boot}"),
            started_at: format!("2026-11-24T{boot:0>8}Z"),
            ..Origin::default()
        },
        Plan {
            recipe: "made".to_owned(),
            phases: vec![plan("idle", &[]), plan("loaded", &["doload"])],
            ..Plan::default()
        },
        Default::default(),
    );
    run.schema_version = SCHEMA_VERSION;
    run.facts.kernel.release = Fact::known("6.12".to_owned(), "uname -r");
    run.facts.kernel.config = Fact::known([("HZ".to_owned(), "250".to_owned())].into(), "/proc/config.gz");
    run.facts.kernel.command_line = Fact::known("quiet".to_owned(), "/proc/cmdline");
    run.facts.cpu.model = Fact::known("Cortex-A53".to_owned(), "/proc/cpuinfo");
    run.phases =
        ["idle", "loaded"].map(|label| Phase { label: label.to_owned(), ..Phase::default() }).to_vec();
    run.series = vec![series("cpu 0", idle, 0), series("cpu 0", loaded, 1)];
    run.progress = Progress { state: State::Complete, ..Progress::default() };
    run.validity = Validity { valid: true, ..Validity::default() };
    run
}

fn plan(label: &str, loads: &[&str]) -> PhasePlan {
    PhasePlan {
        label: label.to_owned(),
        round: 1,
        loads: loads.iter().map(|load| LoadSpec::of_run_file((*load).to_owned())).collect(),
        warmup_ns: 0,
        span: Span::DurationNs(MEASURED_NS),
        probe: ProbePlan::Timer(TimerPlan {
            wake: Wake::ClockNanosleep,
            clock: ClockId::Monotonic,
            dither_ns: 0,
            policy: Policy::Fifo,
            memory_locked: true,
            dma_latency_us: Some(0),
            causes: None,
            threads: vec![ThreadPlan {
                cpu: 0,
                pinned: true,
                priority: 80,
                interval_ns: INTERVAL_NS,
                offset_ns: 0,
            }],
        }),
    }
}

/// `count` exponential latencies of this mean, in bins of 128 ns.
pub(super) fn exponential(random: &mut Random, count: usize, mean_ns: f64) -> Vec<(i64, i64, u64)> {
    let width = 128;
    let mut bins = std::collections::BTreeMap::new();
    for _ in 0..count {
        *bins.entry((random.exponential() * mean_ns) as i64 / width).or_insert(0) += 1;
    }
    bins.into_iter().map(|(bin, count)| (bin * width, (bin + 1) * width, count)).collect()
}

/// A boot whose latencies have this mean times a factor of the boot, whose logarithm varies by `scatter`.
pub(super) fn boot(name: &str, random: &mut Random, mean_ns: f64, scatter: f64) -> Run {
    let normal = (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
    let mean_ns = mean_ns * libm::exp(scatter * normal);
    run(name, &exponential(random, 1000, mean_ns / 4.0), &exponential(random, 1000, mean_ns))
}
