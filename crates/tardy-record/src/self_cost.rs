//! The cost of tardy itself, from the kernel's counters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The beginning of the name of the live view's cost, which is not part of the housekeeping process's.
pub const LIVE_VIEW: &str = "live view";

/// The resources that one of tardy's threads used in the counted part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadCost {
    /// The thread: `timer, cpu 1` or `housekeeping`; or `live view`, which the housekeeping process draws.
    pub thread: String,
    /// Index of the phase; absent for the housekeeping process, which runs in all phases.
    pub phase: Option<usize>,
    /// The number of its cycles; of the live view, of frames.
    pub cycles: Option<u64>,
    /// CPU time (/proc/PID/task/TID/schedstat, exact).
    pub cpu_ns: u64,
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults with disk access.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Migrations to another CPU; absent if the kernel does not count them (CONFIG_SCHED_DEBUG).
    pub migrations: Option<u64>,
}

impl ThreadCost {
    /// CPU time per cycle.
    pub fn cpu_ns_per_cycle(&self) -> Option<f64> {
        self.cycles.filter(|cycles| *cycles > 0).map(|cycles| self.cpu_ns as f64 / cycles as f64)
    }
}
