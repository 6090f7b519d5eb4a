//! Timers: the plan of a timer probe, and the fields of its series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::moment::CauseTrace;
use crate::scheduling::{ClockId, Policy, Wake};

/// A timer probe together with the kernel's events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelPlan {
    /// The threads and how they wait.
    pub timer: TimerPlan,
    /// The size of the trace buffer, in KiB per CPU.
    pub buffer_kib: u32,
    /// Why the timerlat tracer does not run as a check; absent if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_because: Option<String>,
}

/// A timer probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimerPlan {
    /// How the threads wait.
    pub wake: Wake,
    /// The clock of their deadlines.
    pub clock: ClockId,
    /// Each deadline is delayed by up to this, at random with a seed.
    pub dither_ns: u64,
    /// The requested scheduling policy.
    pub policy: Policy,
    /// Whether memory is locked.
    pub memory_locked: bool,
    /// Longest exit latency of an idle state allowed through /dev/cpu_dma_latency, in us; absent if it was left
    /// alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dma_latency_us: Option<u32>,
    /// How the kernel is traced for the causes of late wake-ups; absent if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<CausesPlan>,
    /// The threads.
    pub threads: Vec<ThreadPlan>,
}

impl TimerPlan {
    /// The longest time between two deadlines of any thread, in ns.
    pub fn longest_interval_ns(&self) -> u64 {
        self.threads.iter().map(|thread| thread.interval_ns).max().unwrap_or(0)
    }
}

/// Tracing for the causes of late wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CausesPlan {
    /// Wake-ups that are at most this late are not traced, in ns. With 0, the worst wake-ups so far are traced.
    pub over_ns: u64,
    /// The size of the trace buffer, in KiB per CPU; it holds the latest events.
    pub buffer_kib: u32,
}

/// One measuring thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPlan {
    /// The CPU that it is meant for.
    pub cpu: u32,
    /// Whether it is pinned there; a deadline task is not, outside an exclusive cpuset.
    pub pinned: bool,
    /// Real-time priority; 0 if the policy has none.
    pub priority: u32,
    /// From one deadline to the next.
    pub interval_ns: u64,
    /// From the common start to its first deadline.
    pub offset_ns: u64,
}

/// A timer thread as it actually ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimerSeries {
    /// The CPU that the thread was meant for.
    pub cpu: u32,
    /// Whether it was pinned there.
    pub pinned: bool,
    /// How it waited.
    pub wake: Wake,
    /// The clock of its deadlines.
    pub clock: ClockId,
    /// The policy that the thread actually had.
    pub policy: Policy,
    /// The real-time priority that the thread actually had.
    pub priority: u32,
    /// From one deadline to the next.
    pub interval_ns: u64,
    /// Missed periods as counted by the kernel (timer_getoverrun, timerfd); absent for other methods.
    pub kernel_overruns: Option<u64>,
    /// How the kernel was traced for the causes of late wake-ups; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<CauseTrace>,
}
