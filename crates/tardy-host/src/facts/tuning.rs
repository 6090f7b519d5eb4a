//! Settings that affect latency: memory, watchdogs, power, deferred work, interrupts, file systems, cgroups.
//!
//! A file that is absent although its directory exists is a setting that this kernel does not have. A file that cannot
//! be read or understood is unknown.

use tardy_record::cpu_list;
use tardy_record::facts::{Fact, Facts};
use tardy_record::per_cpu::PerCpu;
use tardy_record::tuning::{CpuQuota, Mount, Setting, Tuning};
use tardy_sys::kernel_files::KernelFiles;

use super::look::not_from;
use super::process_stat::ProcessStat;
use super::scheduling::{CAP_SYS_NICE, in_first_user_namespace};
use crate::cgroups::{MOUNTS, ancestors, paths};

const CPUS: &str = "/sys/devices/system/cpu";

/// Collects the settings of the machine that `facts` describe.
pub fn collect(files: &KernelFiles, facts: &Facts) -> Tuning {
    let kernel = |name: &str| number(files, &format!("/proc/sys/kernel/{name}"));
    let vm = |name: &str| number(files, &format!("/proc/sys/vm/{name}"));
    Tuning {
        huge_pages: setting(files, "/sys/kernel/mm/transparent_hugepage/enabled", chosen),
        swap_areas: setting(files, "/proc/swaps", swap_areas),
        swappiness: vm("swappiness"),
        ksm: number(files, "/sys/kernel/mm/ksm/run"),
        numa_balancing: kernel("numa_balancing"),
        stat_interval_s: vm("stat_interval"),
        hard_watchdog: kernel("nmi_watchdog"),
        soft_watchdog: kernel("soft_watchdog"),
        watchdog_cpus: setting(files, "/proc/sys/kernel/watchdog_cpumask", cpu_list::parse),
        machine_check_s: number(files, "/sys/devices/system/machinecheck/machinecheck0/check_interval"),
        workqueue_cpus: setting(files, "/sys/devices/virtual/workqueue/cpumask", cpu_list::parse_mask),
        cpuset_isolated: cpuset_isolated(files),
        timer_migration: kernel("timer_migration"),
        rcu_expedited: number(files, "/sys/kernel/rcu_expedited"),
        rcu_normal: number(files, "/sys/kernel/rcu_normal"),
        irqbalance: irqbalance(files),
        energy_preference: per_cpu(files, "cpufreq/energy_performance_preference", |text| {
            Some(text.to_owned())
        }),
        energy_bias: per_cpu(files, "power/energy_perf_bias", |text| text.parse().ok()),
        turbo: turbo(files),
        pcie_policy: setting(files, "/sys/module/pcie_aspm/parameters/policy", chosen),
        shared_interrupts: shared_interrupts(files),
        cpu_quotas: cpu_quotas(files, "self"),
        mounts: mounts(files),
        lockdown: lockdown(files, facts),
        container: container(files),
        may_gain_privileges: may_gain_privileges(files),
        unified_cpu_group: unified_cpu_group(files),
    }
}

/// The directory that exists on every kernel whose files a path names: its first two components.
fn anchor(path: &str) -> &str {
    path.match_indices('/').nth(2).map_or("/proc", |(end, _)| &path[..end])
}

/// The content of a file, as `parse` understands it.
fn setting<T>(files: &KernelFiles, path: &str, parse: impl FnOnce(&str) -> Option<T>) -> Setting<T> {
    match files.text(path) {
        Ok(text) => match parse(text.trim()) {
            Some(value) => Fact::known(Some(value), path),
            None => Fact::unknown(format!("{path}: not understood")),
        },
        Err(error) if error.is_absent() && files.exists(anchor(path)) => {
            Fact::known(None, format!("no {path}"))
        }
        Err(error) => Fact::unknown(not_from(path, &error)),
    }
}

fn number(files: &KernelFiles, path: &str) -> Setting<u32> {
    setting(files, path, |text| text.parse().ok())
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

/// The areas in /proc/swaps. Compressed memory (zram) is not a disk.
fn swap_areas(text: &str) -> Option<Vec<String>> {
    let mut lines = text.lines();
    lines.next().filter(|line| line.starts_with("Filename"))?;
    let areas = lines.filter_map(|line| line.split_whitespace().next());
    Some(areas.filter(|area| !area.contains("zram")).map(str::to_owned).collect())
}

/// The same file of each CPU; `None` if no CPU has it.
fn per_cpu<T>(files: &KernelFiles, file: &str, parse: impl Fn(&str) -> Option<T>) -> Setting<PerCpu<T>> {
    let how = format!("{CPUS}/cpu*/{file}");
    let names = match files.names(CPUS) {
        Ok(names) => names,
        Err(error) => return Fact::unknown(not_from(CPUS, &error)),
    };
    let mut values = Vec::new();
    for cpu in names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse::<u32>().ok()) {
        let path = format!("{CPUS}/cpu{cpu}/{file}");
        match files.text(&path) {
            Ok(text) => match parse(text.trim()) {
                Some(value) => values.push((cpu, value)),
                None => return Fact::unknown(format!("{path}: not understood")),
            },
            Err(error) if error.is_absent() => {}
            Err(error) => return Fact::unknown(not_from(&path, &error)),
        }
    }
    if values.is_empty() {
        return Fact::known(None, format!("no {how}"));
    }
    Fact::known(Some(values.into_iter().collect()), how)
}

/// Partitions of cpusets that are isolated, in the root cgroup (Linux 6.7 and later). In a container it is not visible.
fn cpuset_isolated(files: &KernelFiles) -> Setting<Vec<u32>> {
    setting(files, "/sys/fs/cgroup/cpuset.cpus.isolated", |text| match text {
        "" => Some(Vec::new()),
        list => cpu_list::parse(list),
    })
}

fn irqbalance(files: &KernelFiles) -> Fact<bool> {
    const HOW: &str = "/proc/PID/stat";
    let names = match files.names("/proc") {
        Ok(names) => names,
        Err(error) => return Fact::unknown(not_from("/proc", &error)),
    };
    for pid in names.iter().filter(|name| name.parse::<u32>().is_ok()) {
        let Ok(line) = files.text(&format!("/proc/{pid}/stat")) else { continue };
        if ProcessStat::parse(&line).is_some_and(|stat| stat.name == "irqbalance") {
            return Fact::known(true, HOW);
        }
    }
    if sees_kernel_threads(files) {
        Fact::known(false, HOW)
    } else {
        Fact::unknown("/proc does not list the processes of other users or of other namespaces")
    }
}

fn turbo(files: &KernelFiles) -> Setting<bool> {
    let flag = |path: &str, on: &str| {
        let (on, off) = if on == "0" { ("0", "1") } else { ("1", "0") };
        setting(files, path, |text| if text == on { Some(true) } else { (text == off).then_some(false) })
    };
    let intel = flag("/sys/devices/system/cpu/intel_pstate/no_turbo", "0");
    if intel.get() != Some(&None) {
        return intel;
    }
    flag("/sys/devices/system/cpu/cpufreq/boost", "1")
}

fn shared_interrupts(files: &KernelFiles) -> Fact<Vec<String>> {
    const PARENT: &str = "/sys/kernel/irq";
    let names = match files.names(PARENT) {
        Ok(names) => names,
        Err(error) => return Fact::unknown(not_from(PARENT, &error)),
    };
    let mut shared = Vec::new();
    for number in &names {
        let path = format!("{PARENT}/{number}/actions");
        match files.text(&path) {
            Ok(drivers) if drivers.contains(',') => shared.push(format!("{number}: {drivers}")),
            Ok(_) => {}
            // An interrupt may be freed between the listing and the reading.
            Err(error) if error.is_absent() => {}
            Err(error) => return Fact::unknown(not_from(&path, &error)),
        }
    }
    Fact::known(shared, format!("{PARENT}/*/actions"))
}

/// The quotas of the cgroups of a process, `self` or a pid, and of those above them.
pub fn cpu_quotas(files: &KernelFiles, process: &str) -> Fact<Vec<CpuQuota>> {
    let groups = format!("/proc/{process}/cgroup");
    let text = match files.text(&groups) {
        Ok(text) => text,
        Err(error) => return Fact::unknown(not_from(&groups, &error)),
    };
    let mut all: Vec<String> = vec![String::new()];
    all.extend(paths(&text).iter().flat_map(|path| ancestors(path)));
    all.sort_unstable();
    all.dedup();
    let mut quotas = Vec::new();
    for (group, mount) in all.iter().flat_map(|group| MOUNTS.map(|mount| (group, mount))) {
        match quota(files, group, &format!("{mount}{group}")) {
            Ok(quota) => quotas.extend(quota),
            Err(reason) => return Fact::unknown(reason),
        }
    }
    if MOUNTS.iter().any(|mount| files.exists(mount)) {
        Fact::known(quotas, format!("cpu.max or cpu.cfs_quota_us of the cgroups in {groups}"))
    } else {
        Fact::unknown(format!("{}: absent", MOUNTS[0]))
    }
}

/// The quota of one cgroup; `None` if it has none.
fn quota(files: &KernelFiles, group: &str, directory: &str) -> Result<Option<CpuQuota>, String> {
    let group = if group.is_empty() { "/" } else { group }.to_owned();
    let file = format!("{directory}/cpu.max");
    match files.text(&file) {
        Ok(text) => {
            let (quota, period) = text.split_once(' ').ok_or_else(|| format!("{file}: not understood"))?;
            if quota == "max" {
                return Ok(None);
            }
            return match (quota.parse(), period.parse()) {
                (Ok(quota_us), Ok(period_us)) => Ok(Some(CpuQuota { group, file, quota_us, period_us })),
                _ => Err(format!("{file}: not understood")),
            };
        }
        Err(error) if error.is_absent() => {}
        Err(error) => return Err(not_from(&file, &error)),
    }
    let file = format!("{directory}/cpu.cfs_quota_us");
    match files.number::<i64>(&file) {
        Ok(quota) => {
            let period_us = files.number(&format!("{directory}/cpu.cfs_period_us")).unwrap_or(100_000);
            Ok(u64::try_from(quota).ok().map(|quota_us| CpuQuota { group, file, quota_us, period_us }))
        }
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(not_from(&file, &error)),
    }
}

fn mounts(files: &KernelFiles) -> Fact<Vec<Mount>> {
    const PATH: &str = "/proc/self/mounts";
    let text = match files.text(PATH) {
        Ok(text) => text,
        Err(error) => return Fact::unknown(not_from(PATH, &error)),
    };
    let mount = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        Some(Mount {
            point: fields.next()?.to_owned(),
            kind: fields.next()?.to_owned(),
            options: fields.next()?.split(',').map(str::to_owned).collect(),
        })
    };
    Fact::known(text.lines().filter_map(mount).collect(), PATH)
}

/// A kernel without the lockdown module has no such file; without securityfs mounted, no kernel has it.
fn lockdown(files: &KernelFiles, facts: &Facts) -> Setting<String> {
    const PATH: &str = "/sys/kernel/security/lockdown";
    let absent = |how: &str| Fact::known(None, how);
    match files.text(PATH) {
        Ok(text) => match chosen(&text) {
            Some(level) => Fact::known(Some(level), PATH),
            None => Fact::unknown(format!("{PATH}: not understood")),
        },
        Err(error) if !error.is_absent() => Fact::unknown(not_from(PATH, &error)),
        Err(_) => match facts.kernel.config.get() {
            Some(config) if !config.contains_key("SECURITY_LOCKDOWN_LSM") => {
                absent("no CONFIG_SECURITY_LOCKDOWN_LSM")
            }
            _ if files.names("/sys/kernel/security").is_ok_and(|names| !names.is_empty()) => {
                absent("no lockdown in /sys/kernel/security")
            }
            _ => Fact::unknown(format!("{PATH}: absent; securityfs may not be mounted")),
        },
    }
}

/// The container, by the marks that container managers leave and by the name of the cgroup.
pub(crate) fn container(files: &KernelFiles) -> Fact<String> {
    const CGROUP: &str = "/proc/self/cgroup";
    const MARKS: [(&str, &str); 2] = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    const GROUPS: [(&str, &str); 5] = [
        ("/docker", "docker"),
        ("/kubepods", "Kubernetes"),
        ("/libpod", "podman"),
        ("/lxc", "LXC"),
        ("/machine.slice/systemd-nspawn", "systemd-nspawn"),
    ];
    // An image that boots in a virtual machine has these marks too, but its processes include the kernel's threads.
    if !sees_kernel_threads(files) {
        if let Ok(name) = files.text("/run/systemd/container")
            && !name.is_empty()
        {
            return Fact::known(name, "/run/systemd/container");
        }
        if let Some((mark, name)) = MARKS.into_iter().find(|(mark, _)| files.exists(mark)) {
            return Fact::known(name.to_owned(), mark);
        }
    }
    match files.text(CGROUP) {
        Ok(text) => match GROUPS.into_iter().find(|(part, _)| text.contains(part)) {
            Some((_, name)) => Fact::known(name.to_owned(), CGROUP),
            None if !in_first_user_namespace(files) => {
                Fact::known("a user namespace".to_owned(), "/proc/self/uid_map")
            }
            None => Fact::known("none".to_owned(), "no mark of a container manager"),
        },
        Err(error) => Fact::unknown(not_from(CGROUP, &error)),
    }
}

/// Whether /proc lists kthreadd, the parent of kernel threads, which is always process 2.
fn sees_kernel_threads(files: &KernelFiles) -> bool {
    let stat = files.text("/proc/2/stat").unwrap_or_default();
    ProcessStat::parse(&stat).is_some_and(|stat| stat.is_kernel_thread())
}

fn may_gain_privileges(files: &KernelFiles) -> Fact<bool> {
    const PATH: &str = "/proc/self/status";
    let status = match files.text(PATH) {
        Ok(status) => status,
        Err(error) => return Fact::unknown(not_from(PATH, &error)),
    };
    let mask = status.lines().find_map(|line| line.strip_prefix("CapBnd:"));
    match mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => {
            let has_it = mask >> CAP_SYS_NICE & 1 == 1;
            Fact::known(has_it && in_first_user_namespace(files), "CapBnd in /proc/self/status")
        }
        None => Fact::unknown(format!("{PATH}: no CapBnd")),
    }
}

/// The directory of this process's nearest cgroup v2 with the cpu controller. The root of the hierarchy has no such files;
/// in a cgroup namespace, the mount itself is a group below it.
fn unified_cpu_group(files: &KernelFiles) -> Setting<String> {
    const PATH: &str = "/proc/self/cgroup";
    let text = match files.text(PATH) {
        Ok(text) => text,
        Err(error) => return Fact::unknown(not_from(PATH, &error)),
    };
    let own = text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let groups = ancestors(own);
    let with_mount = groups.iter().rev().map(String::as_str).chain([""]);
    let with_controller = with_mount.into_iter().find_map(|group| {
        let path = format!("{}{group}/cpu.weight", MOUNTS[0]);
        files.exists(&path).then_some(path)
    });
    match with_controller {
        Some(path) => Fact::known(Some(path.trim_end_matches("/cpu.weight").to_owned()), path),
        None => Fact::known(None, "no cpu.weight in the cgroup of /proc/self/cgroup"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_brackets_is_chosen() {
        assert_eq!(chosen("always [madvise] never"), Some("madvise".to_owned()));
        assert_eq!(chosen("[none] integrity confidentiality"), Some("none".to_owned()));
        assert_eq!(chosen("always"), None);
    }

    #[test]
    fn compressed_memory_is_not_a_swap_area() {
        let text = "Filename\tType\n/dev/zram0 partition 1 0 100\n/dev/sda2 partition 1 0 -2\n";
        assert_eq!(swap_areas(text), Some(vec!["/dev/sda2".to_owned()]));
        assert_eq!(swap_areas(""), None);
    }
}
