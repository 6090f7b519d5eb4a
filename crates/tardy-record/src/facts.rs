//! Facts about the measured machine, each with its source.
//!
//! `unknown` is not `no`: a kernel counts as PREEMPT_RT only on evidence, and every fact names its source. The
//! headline and the rows that users read are built in the modules below, so that all outputs agree.

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

/// A value and its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fact<T> {
    /// The value, or `"unknown"`.
    pub value: Knowable<T>,
    /// The file, system call or reasoning that the value comes from; for an unknown value, the place that was searched.
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

    /// An unknown value, and the place that was searched.
    pub fn unknown(how: impl Into<String>) -> Self {
        Self { value: Knowable::Unknown, how: how.into() }
    }

    /// The value, if it is known.
    pub fn get(&self) -> Option<&T> {
        self.value.known()
    }
}

/// The preemption model of the kernel (kernel/Kconfig.preempt).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preemption {
    /// CONFIG_PREEMPT_RT: spinlocks sleep, interrupts run in threads.
    Rt,
    /// Preemptible kernel.
    Full,
    /// Full preemption, but deferred to the next tick for fair tasks (6.13 and later).
    Lazy,
    /// Voluntary preemption points only.
    Voluntary,
    /// No preemption in the kernel.
    None,
}

impl Preemption {
    /// The kernel's name for the model.
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

/// A piece of evidence for or against PREEMPT_RT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Its source, such as `uname -v` or `/sys/kernel/realtime`.
    pub source: String,
    /// The evidence itself, quoted.
    pub says: String,
    /// Whether it is evidence for PREEMPT_RT (`true`) or against it (`false`); absent if it decides nothing.
    pub real_time: Option<bool>,
    /// Whether it comes from the running kernel. A file such as /boot/config-… may belong to another kernel.
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

/// A parameter of the boot command line that neither the kernel nor a module seems to recognise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnownedParameter {
    /// The parameter as written, such as `dwg_otg.speed=1`.
    pub parameter: String,
    /// Why it seems to have no effect, such as `no module dwg_otg` or `needs CONFIG_NO_HZ_FULL`.
    pub reason: String,
    /// The parameter that was probably meant, such as `dwc_otg.speed=1`; absent if none is similar.
    pub resembles: Option<String>,
}

impl fmt::Display for UnownedParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.parameter, self.reason)?;
        match &self.resembles {
            Some(meant) => write!(f, "; did you mean {meant}?)"),
            None => f.write_str(")"),
        }
    }
}

/// All facts about the measured machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Facts {
    /// The kernel.
    pub kernel: Kernel,
    /// Clocks and timers.
    pub clock: Clock,
    /// Processors and their idle states.
    pub cpu: Cpu,
    /// Limits of the scheduler for real-time tasks.
    pub scheduling: Scheduling,
    /// The board or computer.
    pub machine: Machine,
    /// The version and build of tardy.
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
    /// Whether this is a PREEMPT_RT kernel. Known only from evidence of the running kernel; unknown if that evidence
    /// contradicts itself.
    pub real_time: Fact<bool>,
    /// The preemption model in force. It may be unknown even if the kernel is known not to be PREEMPT_RT.
    pub preemption: Fact<Preemption>,
    /// Whether the model can be changed while the kernel runs (CONFIG_PREEMPT_DYNAMIC).
    pub preempt_dynamic: Fact<bool>,
    /// All evidence on PREEMPT_RT, including contradicting evidence.
    pub preemption_evidence: Vec<Evidence>,
    /// Contradictions in the evidence, one sentence each; empty if there are none.
    pub contradictions: Vec<String>,
    /// Ticks per second (CONFIG_HZ).
    pub hz: Fact<u32>,
    /// The boot command line.
    pub command_line: Fact<String>,
    /// Parameters of the command line that neither the kernel nor a module of this machine seems to recognise.
    pub unowned_parameters: Fact<Vec<UnownedParameter>>,
    /// Options that are set, without the prefix `CONFIG_`.
    pub config: Fact<BTreeMap<String, String>>,
    /// The co-kernel (Xenomai, EVL or RTAI); `none` if there is none.
    pub co_kernel: Fact<String>,
}

/// Clocks and timers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Clock {
    /// The clock source in use.
    pub source: Fact<String>,
    /// The available clock sources.
    pub available: Fact<Vec<String>>,
    /// The clock event device of each CPU, such as `lapic-deadline`.
    pub event_devices: Fact<PerCpu<String>>,
    /// Whether high-resolution timers are active.
    pub high_resolution: Fact<bool>,
    /// The result of clock_getres for each clock, in ns.
    pub resolution_ns: Fact<BTreeMap<String, u64>>,
    /// Time to read the monotonic clock, in ns; the least of several readings.
    pub read_cost_ns: Fact<u64>,
}

/// Processors and their idle states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cpu {
    /// The model's name.
    pub model: Fact<String>,
    /// Microcode revision, if the CPU has one.
    pub microcode: Fact<String>,
    /// CPUs online.
    pub online: Fact<Vec<u32>>,
    /// `package:core` of each CPU.
    pub topology: Fact<PerCpu<String>>,
    /// Simultaneous multithreading: `on`, `off`, `notsupported`…
    pub smt: Fact<String>,
    /// Frequency governor of each CPU.
    pub governor: Fact<PerCpu<String>>,
    /// Frequency driver, such as `intel_pstate`; `none` if the kernel does not scale the frequency.
    pub frequency_driver: Fact<String>,
    /// Frequency limits of each CPU in kHz: lowest, highest.
    pub frequency_khz: Fact<PerCpu<(u64, u64)>>,
    /// Idle states of the first CPU online, in order.
    pub idle_states: Fact<Vec<IdleState>>,
    /// Idle driver, such as `intel_idle`; `none` if the kernel has only one idle state.
    pub idle_driver: Fact<String>,
    /// The mitigation of each known hardware vulnerability.
    pub mitigations: Fact<BTreeMap<String, String>>,
    /// CPUs isolated from the scheduler (isolcpus or an isolated cpuset), as the kernel lists them; `none` if there
    /// are none.
    pub isolated: Fact<String>,
    /// CPUs without a tick (nohz_full), as the kernel lists them; `none` if there are none.
    pub nohz_full: Fact<String>,
    /// CPUs whose RCU callbacks run elsewhere (rcu_nocbs, nohz_full), as a list; `none` if there are none.
    pub rcu_nocbs: Fact<String>,
    /// The default CPU affinity of interrupts, as a list such as `0-3`.
    pub irq_affinity: Fact<String>,
    /// The hypervisor; `none` if there is evidence of bare metal.
    pub hypervisor: Fact<String>,
}

/// An idle state of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// The driver's name for the state.
    pub name: String,
    /// Exit latency in us.
    pub latency_us: u64,
    /// Whether it is disabled.
    pub disabled: bool,
}

/// Limits of the scheduler for real-time tasks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scheduling {
    /// kernel.sched_rt_runtime_us; −1 means no throttling.
    pub rt_runtime_us: Fact<i64>,
    /// kernel.sched_rt_period_us.
    pub rt_period_us: Fact<i64>,
    /// The fair server (6.12 and later): runtime and period of each CPU in ns.
    pub fair_server: Fact<PerCpu<FairServer>>,
    /// Real-time limit of tardy's cgroup (CONFIG_RT_GROUP_SCHED): `none`, or runtime in us per period, such as
    /// `950000`; at `0` no task of the group can be real-time.
    pub cgroup_rt: Fact<String>,
    /// The highest real-time priority available to this user (RLIMIT_RTPRIO, or 99 with CAP_SYS_NICE).
    pub allowed_priority: Fact<u32>,
    /// Memory that this user can lock, in kB (RLIMIT_MEMLOCK), or `unlimited` (also with CAP_IPC_LOCK).
    pub lockable_memory: Fact<String>,
    /// Interrupt threads, ktimers and ksoftirqd.
    pub kernel_threads: Fact<Vec<KernelThread>>,
}

/// The CPU time that the fair server reserves for ordinary tasks on a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FairServer {
    /// Runtime in each period, in ns; 0 if it is off.
    pub runtime_ns: u64,
    /// The period, in ns.
    pub period_ns: u64,
}

/// A kernel thread that affects latency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelThread {
    /// Its name, such as `irq/39-dwc_otg`.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// `fifo`, `rr`, `other`, `deadline`…
    pub policy: String,
    /// Real-time priority; 0 if the policy has none.
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
    /// The name of the distribution.
    pub distribution: Fact<String>,
    /// Memory in kB.
    pub memory_kb: Fact<u64>,
}

/// The version and build of the tardy that measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tardy {
    /// Its version.
    pub version: String,
    /// Its target triple and build profile.
    pub build: String,
}
