//! Timers: one block for each thread that wakes.

use tardy_probe::order::Work;
use tardy_probe::timer::reading::Of;
use tardy_record::plan::{KernelPlan, ThreadPlan, TimerPlan};

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

/// The same with the kernel's events recorded next to them.
pub(super) fn setup_with_levels(kernel: &KernelPlan) -> ProbeSetup<'_> {
    let why = kernel.alone_because.iter();
    let remarks = why.map(|why| format!("{why}, so nothing checks the events' levels")).collect();
    ProbeSetup { remarks, ..setup(&kernel.timer) }
}
