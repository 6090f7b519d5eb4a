//! What is known of the machine that was measured, and how it is known.
//!
//! `unknown` is not `no`: a kernel counts as PREEMPT_RT only on evidence, and every fact names its own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Knowable;

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fact<T> {
    /// The value, or `"unknown"`.
    pub value: Knowable<T>,
    /// The file, system call or reasoning that it comes from; for an unknown value, what was looked for.
    pub how: String,
}

impl<T> Default for Fact<T> {
    fn default() -> Self {
        Self::unknown("not looked for")
    }
}

impl<T> Fact<T> {
    /// A known value with its source.
    pub fn known(value: T, how: impl Into<String>) -> Self {
        Self { value: Knowable::Known(value), how: how.into() }
    }

    /// An unknown value, and where it was looked for.
    pub fn unknown(how: impl Into<String>) -> Self {
        Self { value: Knowable::Unknown, how: how.into() }
    }
}

/// How the kernel lets a task be preempted (kernel/Kconfig.preempt).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preemption {
    /// CONFIG_PREEMPT_RT: spinlocks sleep, interrupts run in threads.
    Rt,
    /// Preemptible kernel.
    Full,
    /// Full, but put off to the next tick for fair tasks (6.13 and later).
    Lazy,
    /// Voluntary preemption points only.
    Voluntary,
    /// No preemption in the kernel.
    None,
}

impl Preemption {
    /// The kernel's own name for the model.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rt => "PREEMPT_RT",
            Self::Full => "PREEMPT (full)",
            Self::Lazy => "PREEMPT_LAZY",
            Self::Voluntary => "PREEMPT_VOLUNTARY",
            Self::None => "PREEMPT_NONE",
        }
    }
}

/// Everything known of the measured machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Facts {
    /// The kernel.
    pub kernel: Kernel,
    /// Clocks and timers.
    pub clock: Clock,
    /// Processors and how they idle.
    pub cpu: Cpu,
    /// What the scheduler grants real-time tasks.
    pub scheduling: Scheduling,
    /// The board or computer.
    pub machine: Machine,
    /// The tardy that measured.
    pub tardy: Tardy,
}

/// The kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Kernel {
    /// `uname -r`.
    pub release: Fact<String>,
    /// `uname -v`.
    pub version: Fact<String>,
    /// `uname -m`.
    pub machine: Fact<String>,
    /// The preemption model in force.
    pub preemption: Fact<Preemption>,
    /// Whether the model can be changed while the kernel runs (CONFIG_PREEMPT_DYNAMIC).
    pub preempt_dynamic: Fact<bool>,
    /// Every piece of evidence on the preemption model, the contradicting ones too.
    pub preemption_evidence: Vec<String>,
    /// Ticks a second (CONFIG_HZ).
    pub hz: Fact<u32>,
    /// The boot command line.
    pub command_line: Fact<String>,
    /// Command line parameters that neither the kernel nor a module of this machine seems to own.
    pub unowned_parameters: Fact<Vec<String>>,
    /// Options that are set, without their `CONFIG_`.
    pub config: Fact<BTreeMap<String, String>>,
    /// Xenomai's or EVL's core beside Linux; `none` when looked for and absent.
    pub co_kernel: Fact<String>,
}

/// Clocks and timers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Clock {
    /// The clock source in use.
    pub source: Fact<String>,
    /// The clock sources to choose from.
    pub available: Fact<Vec<String>>,
    /// The clock event device of each CPU, such as `lapic-deadline`.
    pub event_devices: Fact<BTreeMap<String, String>>,
    /// Whether high-resolution timers are active.
    pub high_resolution: Fact<bool>,
    /// What clock_getres says, by clock, in ns.
    pub resolution_ns: Fact<BTreeMap<String, u64>>,
    /// What one reading of the monotonic clock costs, in ns, the least of several.
    pub read_cost_ns: Fact<u64>,
}

/// Processors and how they idle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cpu {
    /// The model's name.
    pub model: Fact<String>,
    /// CPUs online.
    pub online: Fact<Vec<u32>>,
    /// `package:core` of each CPU.
    pub topology: Fact<BTreeMap<u32, String>>,
    /// Simultaneous multithreading: `on`, `off`, `notsupported`…
    pub smt: Fact<String>,
    /// Frequency governor of each CPU.
    pub governor: Fact<BTreeMap<u32, String>>,
    /// Frequency limits of each CPU in kHz: lowest, highest.
    pub frequency_khz: Fact<BTreeMap<u32, (u64, u64)>>,
    /// Idle states of CPU 0 in order, with exit latency in us: name, latency, whether disabled.
    pub idle_states: Fact<Vec<IdleState>>,
    /// Idle driver.
    pub idle_driver: Fact<String>,
    /// What is done about each known hardware flaw.
    pub mitigations: Fact<BTreeMap<String, String>>,
    /// CPUs kept from the scheduler (isolcpus or an isolated cpuset).
    pub isolated: Fact<String>,
    /// CPUs without a tick (nohz_full).
    pub nohz_full: Fact<String>,
    /// CPUs that interrupts go to by default.
    pub irq_affinity: Fact<String>,
    /// The hypervisor underneath; `none` when there is evidence of bare metal.
    pub hypervisor: Fact<String>,
}

/// An idle state of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// The driver's name for it.
    pub name: String,
    /// Exit latency in us.
    pub latency_us: u64,
    /// Whether it is switched off.
    pub disabled: bool,
}

/// What the scheduler grants real-time tasks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scheduling {
    /// kernel.sched_rt_runtime_us; −1 is no throttling.
    pub rt_runtime_us: Fact<i64>,
    /// kernel.sched_rt_period_us.
    pub rt_period_us: Fact<i64>,
    /// The fair server (6.12 and later): runtime and period of each CPU in ns, as `runtime/period`.
    pub fair_server: Fact<BTreeMap<u32, String>>,
    /// Real-time limit of tardy's own cgroup (CONFIG_RT_GROUP_SCHED): `none`, or runtime in us.
    pub cgroup_rt: Fact<String>,
    /// Real-time priority that this user may take (RLIMIT_RTPRIO, or 99 with CAP_SYS_NICE).
    pub allowed_priority: Fact<u32>,
    /// Interrupt threads, ktimers and ksoftirqd.
    pub kernel_threads: Fact<Vec<KernelThread>>,
}

/// A kernel thread that matters to latency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelThread {
    /// Its name, such as `irq/39-dwc_otg`.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// `fifo`, `rr`, `other`, `deadline`…
    pub policy: String,
    /// Real-time priority, 0 where the policy has none.
    pub priority: u32,
}

/// The board or computer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Machine {
    /// Board or computer, from the device tree or DMI.
    pub board: Fact<String>,
    /// Firmware and its version.
    pub firmware: Fact<String>,
    /// The distribution's own name for itself.
    pub distribution: Fact<String>,
    /// Memory in kB.
    pub memory_kb: Fact<u64>,
}

/// The tardy that measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tardy {
    /// Its version.
    pub version: String,
    /// What it was built for and how: target triple and profile.
    pub build: String,
}
