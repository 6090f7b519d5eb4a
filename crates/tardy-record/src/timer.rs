//! Timers: the plan of a timer probe, and the fields of its series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::moment::CauseTrace;
use crate::scheduling::{ClockId, Policy, Wake};

/// A timer probe with the kernel's events recorded beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelPlan {
    /// The threads, and how they wait.
    pub timer: TimerPlan,
    /// Room for events that wait to be read, in KiB for each CPU.
    pub buffer_kib: u32,
    /// Why no timerlat tracer stands beside the events as a check; absent where one does.
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
    /// Each deadline is put off by up to this much, at random but seeded.
    pub dither_ns: u64,
    /// Scheduling policy asked for.
    pub policy: Policy,
    /// Whether memory is locked.
    pub memory_locked: bool,
    /// Longest exit latency of an idle state allowed through /dev/cpu_dma_latency, in us; absent: left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dma_latency_us: Option<u32>,
    /// Whether the kernel is traced for the causes of late wake-ups, and how; absent: it is not.
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
    /// Wake-ups up to this late are not looked into; 0: whichever are the worst so far.
    pub over_ns: u64,
    /// Room for events, in KiB for each CPU: what happened last is in it.
    pub buffer_kib: u32,
}

/// One measuring thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPlan {
    /// The CPU that it is for.
    pub cpu: u32,
    /// Whether it is pinned there; a deadline task is not, outside an exclusive cpuset.
    pub pinned: bool,
    /// Real-time priority, 0 where the policy has none.
    pub priority: u32,
    /// From one deadline to the next.
    pub interval_ns: u64,
    /// From the common start to its first deadline.
    pub offset_ns: u64,
}

/// A timer thread as it really ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimerSeries {
    /// The CPU that the thread was for.
    pub cpu: u32,
    /// Whether it was pinned there.
    pub pinned: bool,
    /// How it waited.
    pub wake: Wake,
    /// The clock of its deadlines.
    pub clock: ClockId,
    /// The policy that it really had.
    pub policy: Policy,
    /// The real-time priority that it really had.
    pub priority: u32,
    /// From one deadline to the next.
    pub interval_ns: u64,
    /// Missed periods as the kernel counted them (timer_getoverrun, timerfd); absent for other methods.
    pub kernel_overruns: Option<u64>,
    /// How the kernel was traced for the causes of late wake-ups; absent where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<CauseTrace>,
}
