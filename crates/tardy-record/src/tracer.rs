//! The kernel's latency tracers and its trace: the plan of a tracer, and the fields of the series from a trace.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the kernel's latency tracers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracerPlan {
    /// Which.
    pub tracer: Tracer,
    /// The CPUs that it measures.
    pub cpus: Vec<u32>,
    /// From one reading to the next, in ns: timerlat's period, osnoise's period, hwlat's window.
    pub period_ns: u64,
    /// How much of each period is watched, in ns: osnoise's runtime, hwlat's width; absent for timerlat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_ns: Option<u64>,
    /// Real-time priority of timerlat's user thread; absent for the others, which have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Shorter gaps are not noise, in ns; absent for timerlat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_ns: Option<u64>,
}

/// A latency tracer of the kernel (Documentation/trace/).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tracer {
    /// A timer of the kernel's own, its thread, and a user thread (timerlat-tracer.rst).
    Timerlat,
    /// What takes the CPU from a thread that does not stop (osnoise-tracer.rst).
    Osnoise,
    /// What takes the CPU from the kernel itself, with interrupts off (hwlat_detector.rst).
    Hwlat,
}

impl Tracer {
    /// Its name in the kernel, on the command line and in recipes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timerlat => "timerlat",
            Self::Osnoise => "osnoise",
            Self::Hwlat => "hwlat",
        }
    }

    /// The kernel configuration option that brings it.
    pub fn config_option(self) -> &'static str {
        match self {
            Self::Timerlat => "CONFIG_TIMERLAT_TRACER",
            Self::Osnoise => "CONFIG_OSNOISE_TRACER",
            Self::Hwlat => "CONFIG_HWLAT_TRACER",
        }
    }
}

/// One level of wake-ups as the kernel's trace shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSeries {
    /// The CPU that the thread was for.
    pub cpu: u32,
    /// Who wrote the trace.
    pub source: TraceSource,
    /// From one deadline to the next.
    pub interval_ns: u64,
    /// Whether another series of the phase answers for the same cycles: the thread's own, or the highest level's.
    pub beside: bool,
    /// Events that the kernel's buffers of all CPUs lost, in the whole phase.
    pub lost_events: u64,
}

/// Who wrote a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceSource {
    /// The kernel's timer and scheduler events, of tardy's own thread.
    Events,
    /// The timerlat tracer, of its own timer and thread.
    Timerlat,
    /// A co-kernel's own program, each level in a run of its own.
    CoKernel,
}

impl TraceSource {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Timerlat => "timerlat",
            Self::CoKernel => "co-kernel",
        }
    }
}

/// Noise, as one of the kernel's tracers finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseSeries {
    /// The CPU.
    pub cpu: u32,
    /// The tracer.
    pub tracer: Tracer,
    /// From one period that is watched to the next.
    pub period_ns: u64,
    /// How long is watched in each.
    pub runtime_ns: u64,
    /// Shorter gaps did not count.
    pub threshold_ns: u64,
    /// The longest single gap, where the tracer tells.
    pub longest_ns: Option<u64>,
    /// How often each source took the CPU, such as `irq`, where the tracer tells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_source: BTreeMap<String, u64>,
}
