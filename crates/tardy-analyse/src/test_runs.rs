//! Runs of two CPUs with a given distribution of latencies, for tests.

use tardy_record::facts::Facts;
use tardy_record::plan::Plan;
use tardy_record::run::{Origin, Phase};
use tardy_record::series::{Level, Quantity, SeriesKind, TraceSeries, TraceSource};
use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_record::{Run, Series};

pub(crate) const SECOND: u64 = 1_000_000_000;
/// Each CPU is read every 2 ms.
pub(crate) const INTERVAL_NS: u64 = 2_000_000;

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Uniform between 0 and 1, neither included.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1e-17
    }

    /// 4 us and an exponential tail of 2 us.
    pub(crate) fn latency_us(&mut self) -> f64 {
        4.0 - 2.0 * libm::log(self.uniform())
    }
}

/// A run of `seconds`; `latency_us` is called for each reading with the share of the run that has passed.
pub(crate) fn run(seconds: u64, seed: u64, mut latency_us: impl FnMut(&mut Random, f64) -> f64) -> Run {
    let mut random = Random(seed);
    let mut run = Run::begun(Origin::default(), Plan::default(), Facts::default());
    let span_ns = seconds * SECOND;
    run.phases.push(Phase { label: "only".into(), end_ns: Some(span_ns), ..Phase::default() });
    run.series = (0..2).map(|cpu| series(cpu, span_ns, |passed| latency_us(&mut random, passed))).collect();
    run.refresh_progress();
    run.validity.valid = true;
    run
}

fn series(cpu: u32, span_ns: u64, mut latency_us: impl FnMut(f64) -> f64) -> Series {
    let mut builder = SeriesBuilder::new(0, None, span_ns, &[]);
    for cycle in 0..span_ns / INTERVAL_NS {
        let at_ns = cycle * INTERVAL_NS;
        let value_ns = (latency_us(at_ns as f64 / span_ns as f64) * 1000.0) as i64;
        builder.record(Reading { value_ns, at_ns, cycle, missed: 0 });
    }
    let trace = TraceSeries {
        cpu,
        source: TraceSource::Events,
        interval_ns: INTERVAL_NS,
        beside: false,
        lost_events: 0,
    };
    let kind = SeriesKind::Trace(trace);
    let mut series = builder.series(format!("cpu {cpu}"), 0, Quantity::Latency, Level::UserThread, kind);
    series.counted_ns = span_ns;
    series
}
