//! What is known of the machine that was measured, and how it is known.
//!
//! `unknown` is not `no`: a kernel counts as PREEMPT_RT only on evidence, and every fact names its own. What people
//! read of the facts, a headline and rows, is made in the modules below, so that every reader sees the same.

mod headline;
mod kernel_options;
mod rows;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::knowable::Knowable;
use crate::per_cpu::PerCpu;

pub use kernel_options::KernelOptions;
pub use rows::Row;

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

    /// The value, if it is known.
    pub fn get(&self) -> Option<&T> {
        self.value.known()
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

/// A piece of evidence on whether the kernel is PREEMPT_RT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Where it was found, such as `uname -v` or `/sys/kernel/realtime`.
    pub source: String,
    /// What it says, in its own words.
    pub says: String,
    /// Whether that speaks for PREEMPT_RT (`true`) or against it (`false`); absent where it decides nothing.
    pub real_time: Option<bool>,
    /// Whether the running kernel itself says so. A file beside it, such as /boot/config-…, may be another kernel's.
    pub first_hand: bool,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let speaks = match self.real_time {
            Some(true) => "real-time",
            Some(false) => "not real-time",
            None => "decides nothing",
        };
        write!(f, "{}: {} ({speaks})", self.source, self.says)
    }
}

/// A parameter of the boot command line that nothing seems to own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnownedParameter {
    /// As it stands on the command line, such as `dwg_otg.speed=1`.
    pub parameter: String,
    /// Why it seems to do nothing, such as `no module dwg_otg` or `needs CONFIG_NO_HZ_FULL`.
    pub reason: String,
    /// What was probably meant, such as `dwc_otg.speed=1`; absent where nothing resembles it.
    pub resembles: Option<String>,
}

impl fmt::Display for UnownedParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.parameter, self.reason)?;
        match &self.resembles {
            Some(meant) => write!(f, "; {meant} meant?)"),
            None => f.write_str(")"),
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
    /// Whether this is a PREEMPT_RT kernel. Known to be so only on the running kernel's own evidence, and unknown
    /// where that contradicts itself.
    pub real_time: Fact<bool>,
    /// The preemption model in force. It may be unknown although the kernel is known not to be PREEMPT_RT.
    pub preemption: Fact<Preemption>,
    /// Whether the model can be changed while the kernel runs (CONFIG_PREEMPT_DYNAMIC).
    pub preempt_dynamic: Fact<bool>,
    /// Every piece of evidence on PREEMPT_RT, the contradicting ones too.
    pub preemption_evidence: Vec<Evidence>,
    /// Which pieces of evidence contradict each other, in a sentence each; empty where all agree.
    pub contradictions: Vec<String>,
    /// Ticks a second (CONFIG_HZ).
    pub hz: Fact<u32>,
    /// The boot command line.
    pub command_line: Fact<String>,
    /// Command line parameters that neither the kernel nor a module of this machine seems to own.
    pub unowned_parameters: Fact<Vec<UnownedParameter>>,
    /// Options that are set, without their `CONFIG_`.
    pub config: Fact<BTreeMap<String, String>>,
    /// Xenomai's, EVL's or RTAI's core beside Linux; `none` when looked for and absent.
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
    pub event_devices: Fact<PerCpu<String>>,
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
    /// Microcode revision, where the CPU has one.
    pub microcode: Fact<String>,
    /// CPUs online.
    pub online: Fact<Vec<u32>>,
    /// `package:core` of each CPU.
    pub topology: Fact<PerCpu<String>>,
    /// Simultaneous multithreading: `on`, `off`, `notsupported`…
    pub smt: Fact<String>,
    /// Frequency governor of each CPU.
    pub governor: Fact<PerCpu<String>>,
    /// Frequency driver, such as `intel_pstate`; `none` where the kernel scales no frequency.
    pub frequency_driver: Fact<String>,
    /// Frequency limits of each CPU in kHz: lowest, highest.
    pub frequency_khz: Fact<PerCpu<(u64, u64)>>,
    /// Idle states of the first CPU online, in order.
    pub idle_states: Fact<Vec<IdleState>>,
    /// Idle driver, such as `intel_idle`; `none` where the kernel has no choice of idle states.
    pub idle_driver: Fact<String>,
    /// What is done about each known hardware flaw.
    pub mitigations: Fact<BTreeMap<String, String>>,
    /// CPUs kept from the scheduler (isolcpus or an isolated cpuset), as the kernel lists them; `none` if none is.
    pub isolated: Fact<String>,
    /// CPUs without a tick (nohz_full), as the kernel lists them; `none` if none is.
    pub nohz_full: Fact<String>,
    /// CPUs that interrupts go to by default, as a list such as `0-3`.
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
    /// The fair server (6.12 and later): runtime and period of each CPU in ns.
    pub fair_server: Fact<PerCpu<FairServer>>,
    /// Real-time limit of tardy's own cgroup (CONFIG_RT_GROUP_SCHED): `none`, or runtime in us a period, such as
    /// `950000`; at `0` no task of the group may be real-time.
    pub cgroup_rt: Fact<String>,
    /// Real-time priority that this user may take (RLIMIT_RTPRIO, or 99 with CAP_SYS_NICE).
    pub allowed_priority: Fact<u32>,
    /// Memory that this user may lock, in kB (RLIMIT_MEMLOCK), or `unlimited` (also with CAP_IPC_LOCK).
    pub lockable_memory: Fact<String>,
    /// Interrupt threads, ktimers and ksoftirqd.
    pub kernel_threads: Fact<Vec<KernelThread>>,
}

/// What the fair server keeps for ordinary tasks on a CPU while real-time ones would take it all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FairServer {
    /// How long in each period, in ns; 0 is off.
    pub runtime_ns: u64,
    /// The period, in ns.
    pub period_ns: u64,
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
