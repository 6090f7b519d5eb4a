//! Measures the cost of recording one sample: `cargo bench -p tardy-probe --bench recording`.
//!
//! The measuring loop runs with the fake probe, which generates wake-ups instead of waiting for them. The time covers
//! generating and recording, so it is an upper bound for recording. Two clock reads are measured for comparison.
//! Recording is also measured with every sample kept, in a ring that is large enough not to need a reader during the
//! measurement and therefore causes more cache misses than a real ring.

use std::hint::black_box;

use tardy_probe::cells::CELLS;
use tardy_probe::order::{Order, Work};
use tardy_probe::timer::TimerThread;
use tardy_record::placement::Placement;
use tardy_record::plan::{ClockId, Policy, Span, ThreadPlan, TimerPlan, Wake};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::shared_map::SharedMap;

const CYCLES: u64 = 10_000_000;
/// Samples that are kept in one round; the ring for them takes 24 MiB.
const KEPT: u64 = 1 << 20;
const ROUNDS: usize = 7;
/// The limit that docs/performance.md states, as a share of two clock reads in the same run: ns differ between machines.
const LIMIT: f64 = 0.5;

fn main() {
    let recording = least(CYCLES, || record(CYCLES, 0));
    let keeping = least(KEPT, || record(KEPT, KEPT as usize));
    let clock_reads = least(CYCLES, || {
        let start_ns = monotonic_ns();
        for _ in 0..2 * CYCLES {
            black_box(monotonic_ns());
        }
        monotonic_ns() - start_ns
    });
    println!("generating and recording a sample: {recording:.2} ns");
    println!("the same with --samples:           {keeping:.2} ns");
    println!("two clock reads:                   {clock_reads:.2} ns");
    for cost in [recording, keeping] {
        let share = cost / clock_reads;
        assert!(
            share <= LIMIT,
            "recording costs {share:.2} of two clock reads, more than the limit of {LIMIT}"
        );
    }
}

/// ns per cycle in the fastest of several rounds: a disturbance only makes a round slower.
fn least(cycles: u64, mut round: impl FnMut() -> u64) -> f64 {
    (0..ROUNDS).map(|_| round() as f64 / cycles as f64).fold(f64::INFINITY, f64::min)
}

fn record(cycles: u64, ring_slots: usize) -> u64 {
    let directory = tempfile::tempdir_in("/dev/shm").expect("/dev/shm exists");
    let map = SharedMap::create_with_rings(&directory.path().join("map"), 1, CELLS, ring_slots)
        .expect("/dev/shm has room");
    let thread = ThreadPlan { cpu: 0, pinned: false, priority: 0, interval_ns: 200_000, offset_ns: 0 };
    let order = Order {
        map: map.path().to_owned(),
        threads: vec![0],
        placement: Placement::default(),
        supervisor_pid: 0,
        work: Work::Timer(TimerPlan {
            wake: Wake::ClockNanosleep,
            clock: ClockId::Monotonic,
            dither_ns: 0,
            policy: Policy::Other,
            memory_locked: false,
            dma_latency_us: None,
            causes: None,
            threads: vec![thread],
        }),
        pin: None,
        warmup_ns: 0,
        span: Span::Loops(cycles),
        thresholds_ns: vec![1_000_000],
        seed: 1,
        stop_trace: None,
        fake: Some(1),
    };
    let Work::Timer(timer) = &order.work else { unreachable!("the plan is a timer") };
    let mut thread = TimerThread::new(&map, &order, timer, 0);
    thread.prepare().expect("SCHED_OTHER needs no privileges");
    let start_ns = monotonic_ns();
    thread.measure(1).expect("the fake waits for nothing");
    monotonic_ns() - start_ns
}
