//! Limits of the scheduler for real-time tasks and for this user.

use tardy_record::facts::Facts;

use super::{
    Finding, Judged, Machine, Remedy, RemedyKind, Severity, Unknown, fine, known, not_applicable, set,
    version,
};

/// The memory that the probe and its histograms need to lock, in kB.
const LOCKABLE_KB: u64 = 64 * 1024;
/// The default priority of threaded interrupts (kernel/irq/manage.c).
const INTERRUPT_PRIORITY: u32 = 50;
/// The first kernel with the fair server, and its defaults in ns (kernel/sched/deadline.c).
const FAIR_SERVER: ((u32, u32), u64, u64) = ((6, 12), 50_000_000, 1_000_000_000);
/// The first kernel that can switch CONFIG_RT_GROUP_SCHED off at boot.
const GROUPS_CAN_BE_OFF: (u32, u32) = (6, 15);

/// What a real-time task that never sleeps does to a machine without these limits.
const LOCK_UP: &str = "A real-time task that never sleeps, by mistake or not, then stops everything else on its CPU: the \
    machine may lock up until it is switched off.";

fn setcap() -> Remedy {
    Remedy::command(
        "chgrp GROUP /path/to/tardy && chmod 0750 /path/to/tardy && setcap cap_sys_nice,cap_ipc_lock+ep /path/to/tardy",
    )
}

/// A file's capabilities have no effect in a container that was started without them, or in a user namespace.
fn container_options() -> Remedy {
    Remedy {
        kind: RemedyKind::HostCommand,
        text: "docker run --cap-add SYS_NICE --cap-add IPC_LOCK --ulimit rtprio=99 --ulimit memlock=-1 IMAGE"
            .to_owned(),
    }
}

/// Whether only the one who started this container, or this user namespace, can grant privileges.
fn is_confined(machine: &Machine<'_>) -> bool {
    machine.tuning.may_gain_privileges.get() == Some(&false)
}

pub(super) fn priority(machine: &Machine<'_>) -> Judged {
    let fact = &machine.facts.scheduling.allowed_priority;
    let allowed = *known(fact)?;
    if allowed > INTERRUPT_PRIORITY {
        return fine(format!("up to {allowed}"));
    }
    let (severity, what, why) = match allowed {
        0 => (
            Severity::Blocks,
            "This user may not use any real-time priority".to_owned(),
            "A task without a real-time priority waits for all others, and only SCHED_OTHER can be measured.",
        ),
        allowed => (
            Severity::Hurts,
            format!("This user may not use a real-time priority above {allowed}"),
            "Threaded interrupts run at 50 and have higher priority.",
        ),
    };
    let finding = |remedy| {
        Finding::new(severity, what.clone(), why, fact.how.clone(), remedy)
            .danger("A real-time program of this user that never sleeps can stop the machine.")
    };
    if is_confined(machine) {
        return Ok(finding(container_options()).into());
    }
    Ok(finding(setcap())
        .or(Remedy::command("ulimit -r 99; ulimit -l unlimited; exec su USER"))
        .or(Remedy::command(
            "groupadd -f realtime && usermod -aG realtime USER && printf '@realtime - rtprio 99\\n@realtime - memlock \
             unlimited\\n' > /etc/security/limits.d/99-realtime.conf",
        ))
        .into())
}

/// Whether the kernel gives each cgroup its own real-time runtime; `None` if its configuration is unknown.
fn schedules_groups(machine: &Machine<'_>) -> Option<bool> {
    let default = !machine.built_with("RT_GROUP_SCHED_DEFAULT_DISABLED")?;
    let at_boot = machine
        .boot_value("rt_group_sched")
        .ok()
        .flatten()
        .map(|value| !matches!(value, "0" | "n" | "N" | "off" | "no"));
    Some(machine.built_with("RT_GROUP_SCHED")? && at_boot.unwrap_or(default))
}

pub(super) fn group_runtime(machine: &Machine<'_>) -> Judged {
    const WHAT: &str = "This process's cgroup has no real-time runtime";
    const WHY: &str = "The kernel refuses every real-time policy in it (CONFIG_RT_GROUP_SCHED), also to root: capabilities and \
        limits do not help.";
    let limit = &machine.facts.scheduling.cgroup_rt;
    if limit.get().is_none() && schedules_groups(machine) == Some(true) {
        // cgroup v2 has no file for the runtime of a group, so a group below the root has none.
        let group = &machine.tuning.unified_cpu_group;
        let Some(directory) = set(group)? else {
            return fine("tasks of the root cgroup have no limit of their own");
        };
        let leave = if directory == "/sys/fs/cgroup" {
            // In a cgroup namespace, the root of the hierarchy is visible to the host only.
            Remedy {
                kind: RemedyKind::HostCommand,
                text: "echo PID > /sys/fs/cgroup/cgroup.procs".to_owned(),
            }
        } else {
            Remedy::command("echo $$ > /sys/fs/cgroup/cgroup.procs")
        };
        let finding = Finding::new(Severity::Blocks, WHAT, WHY, group.how.clone(), leave);
        return Ok(finding
            .or(without_groups(machine))
            .danger("The root cgroup has no limits of memory and CPU time.")
            .into());
    }
    let us = known(limit)?;
    if us != "0" {
        return fine(if us == "none" { "no limit".to_owned() } else { format!("{us} us") });
    }
    let root: Vec<&str> = limit.how.splitn(6, '/').take(5).collect();
    let finding =
        Finding::new(Severity::Blocks, WHAT, WHY, limit.how.clone(), Remedy::command(format!("echo 950000 > {}", limit.how)))
            .or(Remedy::command(format!("echo $$ > {}/cgroup.procs", root.join("/"))))
            .or(without_groups(machine))
            .danger("The groups above need at least as much runtime, and together cannot have more than the system's limit.");
    Ok(finding.into())
}

/// How to have a kernel whose cgroups have no real-time runtime of their own.
fn without_groups(machine: &Machine<'_>) -> Remedy {
    if version(machine.facts).is_some_and(|version| version >= GROUPS_CAN_BE_OFF) {
        Remedy::boot_parameter("rt_group_sched=0")
    } else {
        Remedy::kernel_option("CONFIG_RT_GROUP_SCHED=n")
    }
}

/// Too little lockable memory; not reported in addition to a missing priority, which has the same remedy.
pub(super) fn lockable_memory(machine: &Machine<'_>) -> Judged {
    let scheduling = &machine.facts.scheduling;
    if scheduling.allowed_priority.get() == Some(&0) {
        return not_applicable("the missing real-time priority has the same remedy");
    }
    let limit = known(&scheduling.lockable_memory)?;
    let Ok(kb) = limit.parse::<u64>() else { return fine(limit.clone()) };
    if kb >= LOCKABLE_KB {
        return fine(format!("{kb} kB"));
    }
    let finding = |remedy| {
        Finding::new(
            Severity::Hurts,
            format!("This user may lock only {kb} kB of memory"),
            "A page that is not locked may have to be read from disk when it is needed.",
            scheduling.lockable_memory.how.clone(),
            remedy,
        )
        .danger("Locked memory is not available to other programs.")
    };
    if is_confined(machine) {
        return Ok(finding(container_options()).into());
    }
    Ok(finding(setcap()).or(Remedy::command("ulimit -l unlimited; exec su USER")).into())
}

/// The runtime of real-time tasks and the period, both in us, after which the kernel stops them; `None` if it does not.
///
/// Since 6.12 the limit applies only to kernels with CONFIG_RT_GROUP_SCHED; in others the fair server has replaced it.
pub(crate) fn throttle(facts: &Facts) -> Option<(i64, i64)> {
    let runtime = *facts.scheduling.rt_runtime_us.get().filter(|us| **us >= 0)?;
    let groups = facts.kernel.config.get().is_some_and(|config| config.contains_key("RT_GROUP_SCHED"));
    if has_fair_server(facts) && !groups {
        return None;
    }
    Some((runtime, facts.scheduling.rt_period_us.get().copied().unwrap_or(1_000_000)))
}

fn has_fair_server(facts: &Facts) -> bool {
    version(facts).is_some_and(|version| version >= FAIR_SERVER.0)
}

pub(super) fn throttling(machine: &Machine<'_>) -> Judged {
    let facts = machine.facts;
    let limit = &facts.scheduling.rt_runtime_us;
    if *known(limit)? < 0 {
        return fine("off");
    }
    if has_fair_server(facts) && facts.kernel.config.get().is_none() {
        return Err(Unknown(format!(
            "whether the kernel has CONFIG_RT_GROUP_SCHED: {}",
            facts.kernel.config.how
        )));
    }
    let Some((runtime, period)) = throttle(facts) else {
        return not_applicable("since Linux 6.12 the fair server replaces it");
    };
    let finding = |remedy| {
        Finding::new(
            Severity::Hurts,
            format!("Real-time tasks are throttled to {runtime} us in {period}"),
            "If they run longer than that on a CPU, the kernel stops all of them for the rest of the period.",
            limit.how.clone(),
            remedy,
        )
    };
    if has_fair_server(facts) {
        // sched_rt_runtime_us = -1 cannot be undone completely since 6.12, and `check --measure` does not offer it either.
        return Ok(finding(Remedy::kernel_option("CONFIG_RT_GROUP_SCHED=n"))
            .danger("Cgroups can then no longer limit real-time tasks. The fair server remains.")
            .into());
    }
    Ok(finding(Remedy::command("echo -1 > /proc/sys/kernel/sched_rt_runtime_us")).danger(LOCK_UP).into())
}

/// The runtime and the period of the fair server, in ns; `None` if it is disabled or absent. If its files are not readable,
/// the defaults of kernels that have it.
pub(crate) fn fair_share(facts: &Facts) -> Option<(u64, u64)> {
    match facts.scheduling.fair_server.get() {
        Some(servers) => {
            let server = servers.0.values().find(|server| server.runtime_ns > 0)?;
            Some((server.runtime_ns, server.period_ns))
        }
        None => has_fair_server(facts).then_some((FAIR_SERVER.1, FAIR_SERVER.2)),
    }
}

pub(super) fn fair_server(machine: &Machine<'_>) -> Judged {
    let facts = machine.facts;
    let fact = &facts.scheduling.fair_server;
    if fact.get().is_none() && version(facts).is_none() {
        return Err(Unknown(fact.how.clone()));
    }
    let Some((runtime, period)) = fair_share(facts).map(|(a, b)| (a / 1_000_000, b / 1_000_000)) else {
        return fine("none, or off");
    };
    let is_read = fact.get().is_some();
    let source =
        if is_read { fact.how.clone() } else { format!("the default since Linux 6.12; {}", fact.how) };
    let mount = if fact.how.contains("absent") { "mount -t debugfs none /sys/kernel/debug; " } else { "" };
    let finding = Finding::new(
        Severity::Hurts,
        format!("The fair server takes up to {runtime} ms in {period} ms for ordinary tasks"),
        "If real-time tasks leave no time to others, as with `--wake busy`, they are interrupted for that long.",
        source,
        Remedy::command(format!(
            "{mount}for cpu in /sys/kernel/debug/sched/fair_server/cpu*; do echo 0 > $cpu/runtime; done"
        )),
    )
    .danger(LOCK_UP);
    Ok(finding.into())
}

pub(super) fn quota(machine: &Machine<'_>) -> Judged {
    let fact = &machine.tuning.cpu_quotas;
    let quotas = known(fact)?;
    let Some(tightest) =
        quotas.iter().min_by_key(|quota| quota.quota_us.saturating_mul(1000) / quota.period_us.max(1))
    else {
        return fine("none");
    };
    let period = tightest.period_us / 1000;
    let none = if tightest.file.ends_with("cpu.max") { "max" } else { "-1" };
    let finding = Finding::new(
        Severity::Hurts,
        format!("Cgroup {} may use {} ms of CPU time in {period} ms", tightest.group, tightest.quota_us / 1000),
        "When the quota is used up, its ordinary tasks stop for the rest of the period, and real-time tasks wait for locks that \
         they hold.",
        fact.how.clone(),
        Remedy::command(format!("echo {none} > {}", tightest.file)),
    )
    .or(Remedy::command("systemctl set-property UNIT CPUQuota="))
    .danger("The tasks of the cgroup can then use all CPUs.");
    Ok(finding.into())
}
