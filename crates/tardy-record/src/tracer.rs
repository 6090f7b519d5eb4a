//! The kernel's latency tracers and its trace: the plan of a tracer, and the fields of the series from a trace.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the kernel's latency tracers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracerPlan {
    /// The tracer.
    pub tracer: Tracer,
    /// The CPUs that it measures.
    pub cpus: Vec<u32>,
    /// From one reading to the next, in ns: timerlat's period, osnoise's period, hwlat's window.
    pub period_ns: u64,
    /// The part of each period that is watched, in ns: osnoise's runtime, hwlat's width; absent for timerlat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_ns: Option<u64>,
    /// Real-time priority of timerlat's user thread; absent for the other tracers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// The length of the shortest gap that is counted, in ns; absent for timerlat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_ns: Option<u64>,
}

/// A latency tracer of the kernel (Documentation/trace/).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tracer {
    /// A timer of the kernel, its kernel thread, and a user thread (timerlat-tracer.rst).
    Timerlat,
    /// Time taken from a thread that never stops (osnoise-tracer.rst).
    Osnoise,
    /// Time taken from the kernel itself with interrupts off (hwlat_detector.rst).
    Hwlat,
}

impl Tracer {
    /// The name in the kernel, on the command line and in recipes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timerlat => "timerlat",
            Self::Osnoise => "osnoise",
            Self::Hwlat => "hwlat",
        }
    }

    /// The kernel configuration option that enables it.
    pub fn config_option(self) -> &'static str {
        match self {
            Self::Timerlat => "CONFIG_TIMERLAT_TRACER",
            Self::Osnoise => "CONFIG_OSNOISE_TRACER",
            Self::Hwlat => "CONFIG_HWLAT_TRACER",
        }
    }
}

/// One level of wake-ups, from the kernel's trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSeries {
    /// The CPU that the thread was meant for.
    pub cpu: u32,
    /// The source of the trace.
    pub source: TraceSource,
    /// From one deadline to the next.
    pub interval_ns: u64,
    /// Whether another series of the phase covers the same cycles: the thread's own, or that of the highest level.
    pub beside: bool,
    /// Events that the kernel's buffers of all CPUs lost in the whole phase.
    pub lost_events: u64,
}

/// The source of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceSource {
    /// The kernel's timer and scheduler events for tardy's own thread.
    Events,
    /// The timerlat tracer, for its own timer and thread.
    Timerlat,
    /// A co-kernel's program, with a separate run for each level.
    CoKernel,
}

impl TraceSource {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Timerlat => "timerlat",
            Self::CoKernel => "co-kernel",
        }
    }
}

/// Noise found by one of the kernel's tracers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseSeries {
    /// The CPU.
    pub cpu: u32,
    /// The tracer.
    pub tracer: Tracer,
    /// From the start of one watched period to the next.
    pub period_ns: u64,
    /// The watched part of each period.
    pub runtime_ns: u64,
    /// The length of the shortest gap that was counted, in ns.
    pub threshold_ns: u64,
    /// The longest single gap, if the tracer reports it.
    pub longest_ns: Option<u64>,
    /// How often each source, such as `irq`, took the CPU, if the tracer reports it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_source: BTreeMap<String, u64>,
}
