//! The plan of a noise probe. Its series is [`crate::gaps::GapSeries`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scheduling::Policy;

/// A noise probe: on each CPU, a loop that only reads a counter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoisePlan {
    /// The length of the shortest gap that is counted, in ns.
    pub threshold_ns: u64,
    /// The requested scheduling policy.
    pub policy: Policy,
    /// Whether memory is locked.
    pub memory_locked: bool,
    /// Longest exit latency of an idle state allowed through /dev/cpu_dma_latency, in us; absent if it was left
    /// alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dma_latency_us: Option<u32>,
    /// The threads.
    pub threads: Vec<NoiseThread>,
}

/// One thread of a noise probe. It is pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseThread {
    /// Its CPU.
    pub cpu: u32,
    /// Real-time priority; 0 if the policy has none.
    pub priority: u32,
}
