//! Between prepare and finish the probe allocates nothing and faults no page. This test counts both, for every waiter.

mod timer_order;

use std::path::PathBuf;

use tardy_probe::cells::{self, CELLS, Total, Traced, Tracing};
use tardy_probe::noise::NoiseProbe;
use tardy_probe::order::{Order, Work};
use tardy_probe::timer::TimerThread;
use tardy_probe::timer::reading::Cells;
use tardy_record::plan::{ClockId, NoisePlan, NoiseThread, Policy, Span, Wake};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::counting_allocator::{CountingAllocator, allocations};
use tardy_sys::shared_map::SharedMap;
use tardy_sys::waiting::IntervalTimer;

use timer_order::timer_order;

/// Number of measurements that must all have page faults before these are attributed to the probe.
const TRIES: usize = 5;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn order(map: &SharedMap, wake: Wake, stop_trace: Option<PathBuf>) -> Order {
    Order {
        warmup_ns: 2_000_000,
        // Thresholds that every sample exceeds, so that the rare paths run as well.
        thresholds_ns: vec![1, 2],
        stop_trace,
        ..timer_order(map, wake, ClockId::Monotonic, 1, Span::Loops(100))
    }
}

/// A separate program, without the test harness: setitimer's signal goes to the process, and must be blocked before a
/// second thread exists.
fn main() {
    measuring_allocates_nothing_and_faults_no_page();
    measuring_noise_allocates_nothing_and_faults_no_page();
    println!("measuring allocates nothing and faults no page: ok");
}

fn measuring_allocates_nothing_and_faults_no_page() {
    IntervalTimer::claim().unwrap();
    let wakes = Wake::ALL.into_iter().filter(|wake| *wake != Wake::Deadline);
    // Without samples, with a ring that has room for all of them, and with one that overflows.
    for (wake, slots) in wakes.flat_map(|wake| [0, 128, 64].map(|slots| (wake, slots))) {
        assert_no_faults(&format!("{wake:?}"), || faults_while_measuring(wake, slots));
    }
}

/// Fails if there are page faults in every try. The kernel may unmap any page to move or reclaim it, which causes
/// faults in some tries. A page that the probe touches for the first time faults in every try, since each has a new map
/// and stack.
fn assert_no_faults(what: &str, mut faults: impl FnMut() -> u64) {
    let counts: Vec<u64> =
        std::iter::repeat_with(&mut faults).take(TRIES).take_while(|count| *count > 0).collect();
    assert!(counts.len() < TRIES, "{what}: page faults in each of the tries: {counts:?}");
}

/// Measures once, and returns the page faults of the measurement.
fn faults_while_measuring(wake: Wake, slots: usize) -> u64 {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let map = SharedMap::create_with_rings(&directory.path().join("map"), 1, CELLS, slots).unwrap();
    // A trace that every wake-up stops.
    let stop_trace = directory.path().join("tracing_on");
    std::fs::write(&stop_trace, "1").unwrap();
    let order = order(&map, wake, Some(stop_trace));
    map.block(0).cells()[cells::TRACING + Tracing::Over as usize].set(1);
    map.block(0).cells()[cells::TRACING + Tracing::State as usize].set(Traced::On as u64);
    let Work::Timer(timer) = &order.work else { unreachable!("the plan is a timer") };
    let mut thread = TimerThread::new(&map, &order, timer, 0);
    let prepared = thread.prepare().unwrap();
    let before = allocations();
    thread.measure(monotonic_ns() + 1_000_000).unwrap();
    assert_eq!(allocations() - before, 0, "{wake:?}");
    thread.account(&prepared);
    let mut cells = Vec::new();
    assert!(map.block(0).read(&mut cells));
    let total = |total: Total| cells[total as usize];
    let recorded = Cells(&cells).recorded();
    assert_eq!(total(Total::Attempted), 100, "{wake:?}");
    assert_eq!(recorded + total(Total::Missed) + total(Total::Dropped), 100, "{wake:?}");
    let waiting = map.ring(0).map_or(0, |ring| ring.reader().waiting() as u64);
    let lost = if slots > 0 { recorded.saturating_sub(slots as u64) } else { 0 };
    assert_eq!(total(Total::SamplesLost), lost, "{wake:?}");
    assert!(slots == 0 || waiting + lost == recorded, "{wake:?}");
    assert_eq!(total(Total::Stage), cells::Stage::Done as u64);
    assert_eq!(cells[cells::TRACING + Tracing::Stops as usize], 1, "{wake:?}");
    total(Total::MinorFaults) + total(Total::MajorFaults)
}

/// With the lowest threshold that the loop can distinguish, so that it records gaps all the time, and a ring that
/// overflows.
fn measuring_noise_allocates_nothing_and_faults_no_page() {
    for slots in [0, 1 << 16, 64] {
        assert_no_faults("noise", || faults_while_looking_for_noise(slots));
    }
}

/// Measures noise once, and returns the page faults of the measurement.
fn faults_while_looking_for_noise(slots: usize) -> u64 {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let map = SharedMap::create_with_rings(&directory.path().join("map"), 1, CELLS, slots).unwrap();
    let cpu = tardy_sys::scheduling::affinity().unwrap()[0];
    let noise = NoisePlan {
        threshold_ns: 1,
        policy: Policy::Other,
        memory_locked: false,
        dma_latency_us: None,
        threads: vec![NoiseThread { cpu, priority: 0 }],
    };
    let order = Order {
        work: Work::Noise(noise.clone()),
        span: Span::DurationNs(250_000_000),
        ..order(&map, Wake::Busy, None)
    };
    let mut probe = NoiseProbe::new(&map, &order, &noise, 0);
    let prepared = probe.prepare().unwrap();
    let before = allocations();
    probe.measure(monotonic_ns() + 1_000_000).unwrap();
    assert_eq!(allocations() - before, 0);
    probe.account(&prepared);
    let mut cells = Vec::new();
    assert!(map.block(0).read(&mut cells));
    let total = |total: Total| cells[total as usize];
    let recorded = Cells(&cells).recorded();
    assert!(recorded > 0 && total(Total::Attempted) == recorded);
    let waiting = map.ring(0).map_or(0, |ring| ring.reader().waiting() as u64);
    let lost = if slots > 0 { recorded.saturating_sub(slots as u64) } else { 0 };
    assert_eq!(total(Total::SamplesLost), lost);
    assert!(slots == 0 || waiting + lost == recorded);
    assert!(total(Total::Loops) > recorded, "not every turn is a gap");
    assert_eq!(total(Total::Stage), cells::Stage::Done as u64);
    total(Total::MinorFaults) + total(Total::MajorFaults)
}
