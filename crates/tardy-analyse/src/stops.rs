//! Real-time throttling and the fair server: they stop a spinning real-time thread, and these stops dominate its
//! maxima.

use serde::Serialize;
use tardy_record::plan::Wake;
use tardy_record::{Run, Series};

use crate::readiness;

/// A rule of the kernel that stops spinning real-time threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stops {
    /// The rule.
    pub by: StoppedBy,
    /// How long it stops the thread in each period, in ns.
    pub stop_ns: u64,
    /// The period, in ns.
    pub period_ns: u64,
}

/// The kernel's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// Real-time throttling (sched_rt_runtime_us).
    Throttle,
    /// The fair server of Linux 6.12 and later, if other tasks wait for the CPU.
    FairServer,
}

/// The rule, if `run` has a spinning real-time thread that stopped for at least half as long as the rule states.
pub fn of(run: &Run) -> Option<Stops> {
    let stops = throttle(run).or_else(|| {
        let (stop_ns, period_ns) = readiness::fair_share(&run.facts)?;
        Some(Stops { by: StoppedBy::FairServer, stop_ns, period_ns })
    })?;
    let stopped = |series: &Series| {
        let spins =
            series.timer().is_some_and(|timer| timer.wake == Wake::Busy && timer.policy.has_priority())
                || series.gaps().is_some_and(|gaps| gaps.policy.has_priority());
        spins && series.max_ns.is_some_and(|max| max >= 0 && max.unsigned_abs() >= stops.stop_ns / 2)
    };
    run.series.iter().any(stopped).then_some(stops)
}

fn throttle(run: &Run) -> Option<Stops> {
    let (runtime_us, period_us) = readiness::throttle(&run.facts)?;
    let period_ns = u64::try_from(period_us).ok()?.checked_mul(1000)?;
    let stop_ns = period_ns.checked_sub(u64::try_from(runtime_us).ok()?.checked_mul(1000)?)?;
    (stop_ns > 0).then_some(Stops { by: StoppedBy::Throttle, stop_ns, period_ns })
}
