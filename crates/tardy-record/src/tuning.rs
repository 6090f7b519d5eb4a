//! Settings that affect latency and that `tardy check` judges. Runs do not record them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::Fact;
use crate::per_cpu::PerCpu;

/// A setting; `None` if this kernel does not have it.
pub type Setting<T> = Fact<Option<T>>;

/// The settings of a machine, each with its source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Tuning {
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Setting<String>,
    /// Swap areas in use, except those in compressed memory (zram).
    pub swap_areas: Setting<Vec<String>>,
    /// vm.swappiness.
    pub swappiness: Setting<u32>,
    /// Kernel samepage merging: 1 if the kernel merges equal pages.
    pub ksm: Setting<u32>,
    /// kernel.numa_balancing: 0 if off.
    pub numa_balancing: Setting<u32>,
    /// vm.stat_interval in s.
    pub stat_interval_s: Setting<u32>,
    /// kernel.nmi_watchdog: whether the hard lockup detector runs.
    pub hard_watchdog: Setting<u32>,
    /// kernel.soft_watchdog: whether the soft lockup detector runs.
    pub soft_watchdog: Setting<u32>,
    /// kernel.watchdog_cpumask: the CPUs that the soft lockup detector watches.
    pub watchdog_cpus: Setting<Vec<u32>>,
    /// Interval in s at which each CPU polls for corrected machine checks (x86); 0 if it does not.
    pub machine_check_s: Setting<u32>,
    /// CPUs that unbound workqueues may use.
    pub workqueue_cpus: Setting<Vec<u32>>,
    /// CPUs isolated by cpuset partitions.
    pub cpuset_isolated: Setting<Vec<u32>>,
    /// kernel.timer_migration: 1 if timers may move to another CPU.
    pub timer_migration: Setting<u32>,
    /// Whether all grace periods of RCU are expedited.
    pub rcu_expedited: Setting<u32>,
    /// Whether no grace period of RCU is expedited.
    pub rcu_normal: Setting<u32>,
    /// Whether irqbalance runs.
    pub irqbalance: Fact<bool>,
    /// Energy performance preference of each CPU, such as `balance_performance`.
    pub energy_preference: Setting<PerCpu<String>>,
    /// Energy performance bias of each CPU (Intel): 0 performance, 15 power saving.
    pub energy_bias: Setting<PerCpu<u32>>,
    /// Whether CPUs may exceed their nominal frequency.
    pub turbo: Setting<bool>,
    /// Power management of PCIe links: `default`, `performance`, `powersave` or `powersupersave`.
    pub pcie_policy: Setting<String>,
    /// Interrupts that several devices share: number and drivers.
    pub shared_interrupts: Fact<Vec<String>>,
    /// CPU quotas of this process's cgroups.
    pub cpu_quotas: Fact<Vec<CpuQuota>>,
    /// Mounted file systems.
    pub mounts: Fact<Vec<Mount>>,
    /// Kernel lockdown: `none`, `integrity` or `confidentiality`.
    pub lockdown: Setting<String>,
    /// The container that this process runs in, such as `docker`; `none` if it runs in none.
    pub container: Fact<String>,
    /// Whether this process could obtain CAP_SYS_NICE from a file's capabilities: its bounding set has it, and it runs in
    /// the first user namespace.
    pub may_gain_privileges: Fact<bool>,
    /// The cgroup v2 below the root that schedules this process's CPU time.
    pub unified_cpu_group: Setting<String>,
}

/// The CPU quota of a cgroup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CpuQuota {
    /// The cgroup's path below its mount.
    pub group: String,
    /// The file of the quota: `cpu.max`, or `cpu.cfs_quota_us` of cgroup v1.
    pub file: String,
    /// CPU time in each period, in us.
    pub quota_us: u64,
    /// The period, in us.
    pub period_us: u64,
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mount {
    /// Where it is mounted.
    pub point: String,
    /// Its type, such as `ext4`.
    pub kind: String,
    /// Its options.
    pub options: Vec<String>,
}
