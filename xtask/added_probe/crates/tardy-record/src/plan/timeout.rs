//! The plan of a probe that measures how late poll(2) times out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From one timeout of the supervisor to the next, in ns.
const PERIOD_NS: u64 = 10_000_000;

/// Timeouts of poll(2) at regular times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeoutPlan {
    /// The CPU of the process that calls poll(2).
    pub cpu: u32,
    /// From one timeout to the next, in ns.
    pub period_ns: u64,
}

impl TimeoutPlan {
    /// The timeouts of a supervisor on `cpu`.
    pub fn of_supervisor(cpu: u32) -> Self {
        Self { cpu, period_ns: PERIOD_NS }
    }
}
