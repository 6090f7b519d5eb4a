//! What tardy itself cost, added up.

use serde::Serialize;
use tardy_record::Run;
use tardy_record::self_cost::ThreadCost;

/// What tardy itself cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// CPU time of the measuring threads for each cycle, in ns; absent where cycles are not known.
    pub cpu_ns_per_cycle: Option<f64>,
    /// Page faults of the measuring threads; each is a delay that tardy made itself.
    pub page_faults: u64,
    /// Times that the measuring threads moved to another CPU; absent where the kernel does not say.
    pub migrations: Option<u64>,
    /// Times that the CPU was taken from a measuring thread.
    pub involuntary_switches: u64,
    /// CPU time of the housekeeping process as a share of one CPU over the measured time.
    pub housekeeping_share: Option<f64>,
}

/// What tardy cost in `run`.
pub fn of(run: &Run) -> Option<Cost> {
    let (measuring, housekeeping): (Vec<&ThreadCost>, Vec<&ThreadCost>) =
        run.self_cost.iter().partition(|cost| cost.phase.is_some());
    if run.self_cost.is_empty() {
        return None;
    }
    let sum = |part: fn(&ThreadCost) -> u64| {
        measuring.iter().fold(0u64, |sum, cost| sum.saturating_add(part(cost)))
    };
    let cycles: Option<f64> = measuring.iter().map(|cost| cost.cycles.map(|cycles| cycles as f64)).sum();
    let cpu: f64 = measuring.iter().map(|cost| cost.cpu_ns as f64).sum();
    let housekeeping_ns: f64 = housekeeping.iter().map(|cost| cost.cpu_ns as f64).sum();
    let measured = run.progress.measured_ns as f64;
    Some(Cost {
        cpu_ns_per_cycle: cycles.filter(|cycles| *cycles > 0.0).map(|cycles| cpu / cycles),
        page_faults: sum(|cost| cost.minor_faults.saturating_add(cost.major_faults)),
        migrations: measuring.iter().try_fold(0u64, |sum, cost| sum.checked_add(cost.migrations?)),
        involuntary_switches: sum(|cost| cost.involuntary_switches),
        housekeeping_share: (measured > 0.0 && !housekeeping.is_empty()).then(|| housekeeping_ns / measured),
    })
}
