//! The fields of a series of timeouts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How late poll(2) timed out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeoutSeries {
    /// The CPU of the process that called poll(2).
    pub cpu: u32,
    /// From one timeout to the next, in ns.
    pub period_ns: u64,
}
