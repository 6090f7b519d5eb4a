//! An order for timer threads, which tests change where they need another.

use tardy_probe::order::{Order, Work};
use tardy_record::placement::Placement;
use tardy_record::plan::{ClockId, Policy, Span, ThreadPlan, TimerPlan, Wake};
use tardy_sys::shared_map::SharedMap;

/// An order for `threads` threads that wait on `clock` for a period of 1 ms, without a warm-up, for `span`.
pub(crate) fn timer_order(map: &SharedMap, wake: Wake, clock: ClockId, threads: usize, span: Span) -> Order {
    let thread = ThreadPlan { cpu: 0, pinned: false, priority: 0, interval_ns: 1_000_000, offset_ns: 0 };
    Order {
        map: map.path().to_owned(),
        threads: (0..threads).collect(),
        placement: Placement::default(),
        supervisor_pid: std::process::id(),
        work: Work::Timer(TimerPlan {
            wake,
            clock,
            dither_ns: 0,
            policy: Policy::Other,
            memory_locked: false,
            dma_latency_us: None,
            causes: None,
            threads: vec![thread; threads],
        }),
        pin: None,
        warmup_ns: 0,
        span,
        thresholds_ns: Vec::new(),
        stop_trace: None,
        seed: 1,
        fake: None,
    }
}
