//! What tardy itself cost, all from the kernel's counters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one of tardy's own threads used while the counted part went on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadCost {
    /// Which thread: `timer, cpu 1` or `housekeeping`.
    pub thread: String,
    /// Index of the phase; absent for the housekeeping process, which runs through all.
    pub phase: Option<usize>,
    /// Cycles that it went through.
    pub cycles: Option<u64>,
    /// CPU time (/proc/PID/task/TID/schedstat, exact).
    pub cpu_ns: u64,
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults with disk access.
    pub major_faults: u64,
    /// Times that it gave up the CPU by waiting.
    pub voluntary_switches: u64,
    /// Times that the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Times that it moved to another CPU; absent where the kernel does not say (CONFIG_SCHED_DEBUG).
    pub migrations: Option<u64>,
}

impl ThreadCost {
    /// CPU time for each cycle.
    pub fn cpu_ns_per_cycle(&self) -> Option<f64> {
        self.cycles.filter(|cycles| *cycles > 0).map(|cycles| self.cpu_ns as f64 / cycles as f64)
    }
}
