//! The cost of tardy itself: CPU time, page faults, migrations.

use serde::Serialize;
use tardy_record::Run;
use tardy_record::plan::{TimerPlan, Wake};
use tardy_record::self_cost::{LIVE_VIEW, ThreadCost};

/// The cost of tardy itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// CPU time of the measuring threads per cycle, for each wake method. They are separate because a spinning method
    /// uses a whole CPU and would dominate a common mean.
    pub per_wake: Vec<WakeCost>,
    /// Page faults of the measuring threads; each is a delay that tardy caused.
    pub page_faults: u64,
    /// Times that the measuring threads moved to another CPU; `None` if the kernel does not report it.
    pub migrations: Option<u64>,
    /// Involuntary context switches of the measuring threads.
    pub involuntary_switches: u64,
    /// CPU time of the housekeeping process as a share of one CPU over the whole run, including warm-ups and the start
    /// and end of loads.
    pub housekeeping_share: Option<f64>,
    /// The part of [`Self::housekeeping_share`] that drew the live view; `None` if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_view_share: Option<f64>,
    /// Duration of the whole run by its phases and events, in ns.
    pub whole_run_ns: u64,
}

/// The cost of one wake method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WakeCost {
    /// The method.
    pub wake: Wake,
    /// CPU time per cycle, in ns.
    pub cpu_ns_per_cycle: f64,
}

/// The cost of tardy in `run`; `None` if the run does not record it.
pub fn of(run: &Run) -> Option<Cost> {
    let (measuring, housekeeping): (Vec<&ThreadCost>, Vec<&ThreadCost>) =
        run.self_cost.iter().partition(|cost| cost.phase.is_some());
    if run.self_cost.is_empty() {
        return None;
    }
    let sum = |part: fn(&ThreadCost) -> u64| {
        measuring.iter().fold(0u64, |sum, cost| sum.saturating_add(part(cost)))
    };
    let housekeeping_ns: f64 = housekeeping.iter().map(|cost| cost.cpu_ns as f64).sum();
    let live_view =
        housekeeping.iter().find(|cost| cost.thread.starts_with(LIVE_VIEW)).map(|cost| cost.cpu_ns);
    let whole_run_ns = whole_run_ns(run);
    Some(Cost {
        per_wake: per_wake(run, &measuring),
        page_faults: sum(|cost| cost.minor_faults.saturating_add(cost.major_faults)),
        migrations: measuring.iter().try_fold(0u64, |sum, cost| sum.checked_add(cost.migrations?)),
        involuntary_switches: sum(|cost| cost.involuntary_switches),
        housekeeping_share: (whole_run_ns > 0 && !housekeeping.is_empty())
            .then(|| housekeeping_ns / whole_run_ns as f64),
        live_view_share: live_view
            .filter(|_| whole_run_ns > 0)
            .map(|cpu_ns| cpu_ns as f64 / whole_run_ns as f64),
        whole_run_ns,
    })
}

/// From the start of the run to its last known event.
fn whole_run_ns(run: &Run) -> u64 {
    let events = run.events.iter().map(|event| event.at_ns.saturating_add(event.took_ns));
    let phases = run.phases.iter().map(|phase| phase.end_ns.unwrap_or(phase.start_ns));
    let series = run.series.iter().map(|series| {
        let start_ns = run.phases.get(series.phase).map_or(0, |phase| phase.start_ns);
        start_ns.saturating_add(series.counted_ns)
    });
    events.chain(phases).chain(series).max().unwrap_or(0)
}

/// The cost of each wake method whose cycles are all known, in order.
fn per_wake(run: &Run, measuring: &[&ThreadCost]) -> Vec<WakeCost> {
    let mut sums: Vec<(Wake, f64, Option<f64>)> = Vec::new();
    for cost in measuring {
        let Some(plan) = cost.phase.and_then(|phase| run.plan.phases.get(phase)) else { continue };
        let Some(TimerPlan { wake, .. }) = plan.probe.timer().cloned() else { continue };
        let (cpu, cycles) = (cost.cpu_ns as f64, cost.cycles.map(|cycles| cycles as f64));
        match sums.iter_mut().find(|(other, ..)| *other == wake) {
            Some((_, cpu_sum, cycle_sum)) => {
                *cpu_sum += cpu;
                *cycle_sum = cycle_sum.zip(cycles).map(|(a, b)| a + b);
            }
            None => sums.push((wake, cpu, cycles)),
        }
    }
    let figure = |(wake, cpu, cycles): (Wake, f64, Option<f64>)| {
        let cycles = cycles.filter(|cycles| *cycles > 0.0)?;
        Some(WakeCost { wake, cpu_ns_per_cycle: cpu / cycles })
    };
    sums.into_iter().filter_map(figure).collect()
}
