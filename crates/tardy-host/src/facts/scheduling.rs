//! The scheduler's limits for real-time tasks and for this user.

use tardy_record::facts::{Fact, FairServer, Kernel, Scheduling};
use tardy_record::per_cpu::PerCpu;
use tardy_sys::kernel_files::KernelFiles;

use super::look::{Look, not_from};
use super::release::major_minor;
use super::threads;

const CAP_IPC_LOCK: u32 = 14;
pub(super) const CAP_SYS_NICE: u32 = 23;

/// Collects the facts about scheduling.
pub(super) fn collect(files: &KernelFiles, kernel: &Kernel) -> Scheduling {
    Scheduling {
        rt_runtime_us: files.number_fact("/proc/sys/kernel/sched_rt_runtime_us"),
        rt_period_us: files.number_fact("/proc/sys/kernel/sched_rt_period_us"),
        fair_server: fair_server(files, kernel),
        cgroup_rt: cgroup_limit(files, kernel),
        allowed_priority: allowed_priority(files),
        lockable_memory: lockable_memory(files),
        kernel_threads: threads::find(files),
    }
}

fn fair_server(files: &KernelFiles, kernel: &Kernel) -> Fact<PerCpu<FairServer>> {
    const PARENT: &str = "/sys/kernel/debug/sched/fair_server";
    let servers = files.per_cpu_fact(PARENT, "cpu", &format!("{PARENT}/cpu*"), |cpu| {
        let ns = |which: &str| files.number(&format!("{cpu}/{which}")).ok();
        Some(FairServer { runtime_ns: ns("runtime")?, period_ns: ns("period")? })
    });
    match (servers.get(), kernel.release.get().and_then(|release| major_minor(release))) {
        (None, Some(version)) if version < (6, 12) => {
            Fact::known(PerCpu::default(), "uname -r: before 6.12 there was none")
        }
        (None, _) => {
            // A directory whose files are not readable: debugfs is mounted, but lockdown refuses them, also to root.
            let unreadable = files.names(PARENT).ok().and_then(|cpus| {
                let path = format!("{PARENT}/{}/runtime", cpus.first()?);
                files.number::<u64>(&path).err().map(|error| not_from(&path, &error))
            });
            let reason = unreadable.unwrap_or(servers.how);
            Fact::unknown(format!(
                "{reason}; it needs root, a mounted debugfs, and a kernel that is not locked down"
            ))
        }
        (Some(_), _) => servers,
    }
}

/// The RT limit of this process's group: only cgroup v1 with CONFIG_RT_GROUP_SCHED has one.
fn cgroup_limit(files: &KernelFiles, kernel: &Kernel) -> Fact<String> {
    let config = kernel.config.get();
    if config.is_some_and(|config| !config.contains_key("RT_GROUP_SCHED")) {
        return Fact::known("none".to_owned(), format!("no CONFIG_RT_GROUP_SCHED in {}", kernel.config.how));
    }
    let Some(group) = own_v1_group(files) else {
        return match config {
            Some(_) => {
                Fact::unknown("CONFIG_RT_GROUP_SCHED is set, but /proc/self lists no cgroup v1 for cpu")
            }
            None => Fact::known("none".to_owned(), "no cgroup v1 for cpu in /proc/self/cgroup and mounts"),
        };
    };
    let path = format!("{group}/cpu.rt_runtime_us");
    match files.number::<i64>(&path) {
        Ok(us) => Fact::known(us.to_string(), path),
        Err(error) if error.is_absent() => Fact::known("none".to_owned(), format!("no {path}")),
        Err(error) => Fact::unknown(not_from(&path, &error)),
    }
}

fn own_v1_group(files: &KernelFiles) -> Option<String> {
    let has_cpu = |controllers: &str| controllers.split(',').any(|controller| controller == "cpu");
    let mounts = files.text("/proc/self/mounts").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        (fields.get(2) == Some(&"cgroup") && has_cpu(fields.get(3)?)).then(|| fields[1].to_owned())
    })?;
    let groups = files.text("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        has_cpu(fields.next()?).then(|| fields.next()).flatten()
    })?;
    Some(format!("{}{}", mount, group.trim_end_matches('/')))
}

/// The highest priority that sched_setscheduler(2) grants.
fn allowed_priority(files: &KernelFiles) -> Fact<u32> {
    if let Some(how) = has_capability(files, CAP_SYS_NICE, "CAP_SYS_NICE") {
        return Fact::known(99, how);
    }
    match soft_limit(files, "Max realtime priority") {
        Ok(limit) => match limit.as_str() {
            "unlimited" => Fact::known(99, "RLIMIT_RTPRIO in /proc/self/limits"),
            number => number.parse().map_or_else(
                |_| Fact::unknown("/proc/self/limits: no real-time priority"),
                |limit: u32| Fact::known(limit.min(99), "RLIMIT_RTPRIO in /proc/self/limits"),
            ),
        },
        Err(reason) => Fact::unknown(reason),
    }
}

/// Whether this process may set priorities of kernel threads (CAP_SYS_NICE).
pub fn may_set_priorities(files: &KernelFiles) -> bool {
    has_capability(files, CAP_SYS_NICE, "CAP_SYS_NICE").is_some()
}

/// The memory that mlockall(2) grants.
fn lockable_memory(files: &KernelFiles) -> Fact<String> {
    if let Some(how) = has_capability(files, CAP_IPC_LOCK, "CAP_IPC_LOCK") {
        return Fact::known("unlimited".to_owned(), how);
    }
    match soft_limit(files, "Max locked memory") {
        Ok(limit) => {
            let kb = limit.parse::<u64>().map(|bytes| (bytes / 1024).to_string());
            Fact::known(kb.unwrap_or(limit), "RLIMIT_MEMLOCK in /proc/self/limits")
        }
        Err(reason) => Fact::unknown(reason),
    }
}

/// The source of a capability that is effective in this process. A capability granted inside a user namespace does not
/// count for the scheduler or for mlock.
fn has_capability(files: &KernelFiles, number: u32, name: &str) -> Option<String> {
    let status = files.text("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    if mask >> number & 1 == 0 {
        return None;
    }
    in_first_user_namespace(files).then(|| format!("{name} in /proc/self/status"))
}

/// Whether this process is in the first user namespace, by the users that its namespace maps. A kernel without
/// namespaces has no map.
pub(super) fn in_first_user_namespace(files: &KernelFiles) -> bool {
    let map = files.text("/proc/self/uid_map").unwrap_or_default();
    let first: Vec<&str> = map.split_whitespace().collect();
    first.is_empty() || first == ["0", "0", "4294967295"]
}

fn soft_limit(files: &KernelFiles, name: &str) -> Result<String, String> {
    const PATH: &str = "/proc/self/limits";
    let limits = files.text(PATH).map_err(|error| not_from(PATH, &error))?;
    limits
        .lines()
        .find_map(|line| line.strip_prefix(name)?.split_whitespace().next())
        .map(str::to_owned)
        .ok_or_else(|| format!("{PATH}: no '{name}'"))
}
