//! Set-up of the timer probe: one block for each thread that wakes.

use tardy_host::watch::WakeTimes;
use tardy_probe::order::Work;
use tardy_probe::timer::reading::Of;
use tardy_record::plan::{ClockId, KernelPlan, ThreadPlan, TimerPlan, Wake};

use super::setup::{Counter, ProbeSetup, Rings};

/// The set-up of threads that wake.
pub(super) fn setup(timer: &TimerPlan) -> ProbeSetup<'_> {
    let counter = |(index, thread): (usize, _)| Counter {
        of: Of::Timer { timer, thread },
        policy: timer.policy,
        thread: index,
        has_gaps: false,
    };
    let shortest_ns = timer.threads.iter().map(|thread: &ThreadPlan| thread.interval_ns).min();
    ProbeSetup {
        work: Work::Timer(timer.clone()),
        pin: None,
        counters: timer.threads.iter().enumerate().map(counter).collect(),
        rings: Rings::Samples(shortest_ns.unwrap_or(u64::MAX)),
        remarks: Vec::new(),
    }
}

/// The set-up of threads that wake while the kernel's events of their wake-ups are recorded.
pub(super) fn setup_with_levels(kernel: &KernelPlan) -> ProbeSetup<'_> {
    let why = kernel.alone_because.iter();
    let remarks = why.map(|why| format!("{why}, so the events' levels are not checked")).collect();
    ProbeSetup { remarks, ..setup(&kernel.timer) }
}

/// When the only thread on `cpu` wakes up after a start at `start_ns` on the monotonic clock; `None` if that is not known. A
/// thread that sleeps for a relative time, that adds a dither, or whose clock is adjusted has no fixed grid.
pub(super) fn wakes_on(plan: &TimerPlan, cpu: u32, start_ns: u64) -> Option<WakeTimes> {
    let is_periodic = matches!(plan.wake, Wake::ClockNanosleep | Wake::TimerSettime | Wake::Timerfd)
        && plan.dither_ns == 0
        && plan.clock == ClockId::Monotonic;
    let mut here = plan.threads.iter().filter(|thread| thread.cpu == cpu && thread.pinned);
    match (is_periodic, here.next(), here.next()) {
        (true, Some(thread), None) => {
            Some(WakeTimes { first_ns: start_ns + thread.offset_ns, interval_ns: thread.interval_ns })
        }
        _ => None,
    }
}
