//! CPUs kept free for real-time tasks, and the kernel's work that may still reach them.

use tardy_record::cpu_list;

use super::{Finding, Judged, Machine, Remedy, Severity, Unknown, fine, known, not_applicable, set};

/// The CPUs isolated at boot or by a cpuset.
pub(super) fn isolated(machine: &Machine<'_>) -> Result<Vec<u32>, Unknown> {
    let at_boot = known(&machine.facts.cpu.isolated)?;
    let at_boot = listed(at_boot, &machine.facts.cpu.isolated.how)?;
    let by_cpuset = machine.tuning.cpuset_isolated.get().into_iter().flatten().flatten().copied();
    Ok(cpu_list::distinct(at_boot.into_iter().chain(by_cpuset)))
}

/// A list of CPUs, or `none`.
fn listed(list: &str, how: &str) -> Result<Vec<u32>, Unknown> {
    cpu_list::parse_kept_apart(list).ok_or_else(|| Unknown(format!("{how}: '{list}' is not understood")))
}

/// The CPUs online that are not isolated.
pub(super) fn others(machine: &Machine<'_>, isolated: &[u32]) -> Result<Vec<u32>, Unknown> {
    let online = known(&machine.facts.cpu.online)?;
    Ok(online.iter().copied().filter(|cpu| !isolated.contains(cpu)).collect())
}

pub(super) fn isolation(machine: &Machine<'_>) -> Judged {
    let facts = machine.facts;
    let online = known(&facts.cpu.online)?;
    let [_, .., last] = online.as_slice() else { return not_applicable("there is one CPU") };
    let isolated = isolated(machine)?;
    if !isolated.is_empty() {
        return isolated_how(machine, &isolated);
    }
    let rest = cpu_list::format(&others(machine, &[*last])?);
    let boot = Remedy::boot_parameter(format!("isolcpus=managed_irq,domain,{last} irqaffinity={rest}"));
    let finding = |remedy| {
        Finding::new(
            Severity::Note,
            "No CPU is isolated",
            "On an isolated CPU a real-time task shares neither caches nor run queue with other tasks.",
            facts.cpu.isolated.how.clone(),
            remedy,
        )
        .danger("Ordinary tasks no longer use that CPU, and a task moved there is not balanced to another.")
    };
    // The root of cgroup v2 has a list of isolated CPUs if cpusets can have isolated partitions.
    Ok(match machine.tuning.cpuset_isolated.get() {
        Some(Some(_)) => finding(partition(*last)).or(boot),
        _ => finding(boot),
    }
    .into())
}

/// An isolated partition of cpusets, which can be made and removed while the machine runs.
fn partition(cpu: u32) -> Remedy {
    Remedy::command(format!(
        "cd /sys/fs/cgroup && echo +cpuset > cgroup.subtree_control && mkdir rt && echo {cpu} > rt/cpuset.cpus && \
         echo isolated > rt/cpuset.cpus.partition"
    ))
}

/// `isolcpus=` without flags leaves managed interrupts on the isolated CPUs.
fn isolated_how(machine: &Machine<'_>, isolated: &[u32]) -> Judged {
    let list = cpu_list::format(isolated);
    // A command line that is not readable does not hide that the CPUs are isolated.
    let value = machine.boot_value("isolcpus").ok().flatten();
    let Some(value) = value.filter(|value| !value.contains("managed_irq")) else {
        return fine(format!("CPU {list}"));
    };
    let finding = Finding::new(
        Severity::Note,
        format!("isolcpus={value} leaves interrupts that drivers manage on the isolated CPUs"),
        "Queues of disks and network cards interrupt them. The kernel's documentation prefers cpuset partitions to \
         isolcpus=.",
        machine.facts.kernel.command_line.how.clone(),
        Remedy::boot_parameter(format!("isolcpus=managed_irq,domain,{list}")),
    )
    .danger("Queues whose CPUs are all isolated are served by others, more slowly.");
    Ok(finding.into())
}

pub(super) fn tick(machine: &Machine<'_>) -> Judged {
    let isolated = isolated(machine)?;
    if isolated.is_empty() {
        return not_applicable("no CPU is isolated");
    }
    let fact = &machine.facts.cpu.nohz_full;
    let without = listed(known(fact)?, &fact.how)?;
    let list = cpu_list::format(&isolated);
    if isolated.iter().all(|cpu| without.contains(cpu)) {
        return fine(format!("CPU {list} without tick"));
    }
    let remedy = match machine.built_with("NO_HZ_FULL") {
        Some(false) => Remedy::kernel_option("CONFIG_NO_HZ_FULL=y"),
        _ => Remedy::boot_parameter(format!("nohz_full={list}")),
    };
    let finding = Finding::new(
        Severity::Note,
        format!("The tick interrupts isolated CPUs: {list}"),
        "A task that never sleeps is interrupted at each tick; for one that sleeps in each cycle it matters little.",
        fact.how.clone(),
        remedy,
    )
    .danger("Each system call and interrupt there takes longer, and a second task on the CPU brings the tick back.");
    Ok(finding.into())
}

pub(super) fn rcu_callbacks(machine: &Machine<'_>) -> Judged {
    let isolated = isolated(machine)?;
    if isolated.is_empty() {
        return not_applicable("no CPU is isolated");
    }
    if machine.built_with("RCU_NOCB_CPU_DEFAULT_ALL") == Some(true) {
        return fine("offloaded on all CPUs");
    }
    let fact = &machine.facts.cpu.rcu_nocbs;
    let command_line = &fact.how;
    let offloaded = listed(known(fact)?, command_line)?;
    let list = cpu_list::format(&isolated);
    if isolated.iter().all(|cpu| offloaded.contains(cpu)) {
        return fine(format!("offloaded on CPU {list}"));
    }
    let remedy = match machine.built_with("RCU_NOCB_CPU") {
        Some(false) => Remedy::kernel_option("CONFIG_RCU_NOCB_CPU=y"),
        _ => Remedy::boot_parameter(format!("rcu_nocbs={list}")),
    };
    let finding = Finding::new(
        Severity::Note,
        format!("RCU callbacks run on isolated CPUs: {list}"),
        "Memory that the kernel frees later is freed there, in batches.",
        command_line.clone(),
        remedy,
    )
    .danger("The other CPUs do that work, and run out of memory if they cannot keep up.");
    Ok(finding.into())
}

pub(super) fn workqueues(machine: &Machine<'_>) -> Judged {
    let isolated = isolated(machine)?;
    if isolated.is_empty() {
        return not_applicable("no CPU is isolated");
    }
    let fact = &machine.tuning.workqueue_cpus;
    let Some(allowed) = set(fact)? else { return fine("the kernel has no mask") };
    if !isolated.iter().any(|cpu| allowed.contains(cpu)) {
        return fine(format!("on CPU {}", cpu_list::format(allowed)));
    }
    let rest = others(machine, &isolated)?;
    let finding = Finding::new(
        Severity::Hurts,
        format!("Unbound workqueues may use isolated CPUs: {}", cpu_list::format(&isolated)),
        "Deferred work of drivers and file systems preempts ordinary tasks there, and brings locks and interrupts.",
        fact.how.clone(),
        Remedy::command(format!("echo {} > {}", cpu_list::format_mask(&rest), fact.how)),
    )
    .danger("The other CPUs do all of that work.");
    Ok(finding.into())
}

pub(super) fn expedited_rcu(machine: &Machine<'_>) -> Judged {
    let tuning = machine.tuning;
    let (Some(expedited), Some(normal)) = (set(&tuning.rcu_expedited)?, set(&tuning.rcu_normal)?) else {
        return fine("the kernel has none");
    };
    if *normal != 0 {
        return fine("off");
    }
    let danger = "Operations that wait for a grace period take longer: mounting, network and cgroup changes.";
    let remedy = Remedy::command("echo 1 > /sys/kernel/rcu_normal");
    let finding = if *expedited == 0 {
        Finding::new(
            Severity::Note,
            "The kernel may expedite RCU's grace periods",
            "Some operations, such as changes of the network, then interrupt every CPU that is not idle.",
            tuning.rcu_normal.how.clone(),
            remedy,
        )
    } else {
        Finding::new(
            Severity::Hurts,
            "Every grace period of RCU is expedited",
            "Each interrupts every CPU that is not idle.",
            tuning.rcu_expedited.how.clone(),
            remedy,
        )
    };
    Ok(finding.or(Remedy::boot_parameter("rcupdate.rcu_normal=1")).danger(danger).into())
}

pub(super) fn timer_migration(machine: &Machine<'_>) -> Judged {
    let migration = &machine.tuning.timer_migration;
    match set(migration)? {
        None => return fine("the kernel has none"),
        Some(0) => return fine("off"),
        Some(_) => {}
    }
    let finding = Finding::new(
        Severity::Note,
        "Timers of idle CPUs move to busy ones",
        "A busy CPU also handles the timers of others. `tardy check --measure` measures the effect.",
        migration.how.clone(),
        Remedy::command("sysctl kernel.timer_migration=0"),
    )
    .danger("Idle CPUs are woken more often, so they need more power.");
    Ok(finding.into())
}

pub(super) fn stat_interval(machine: &Machine<'_>) -> Judged {
    /// The interval that tuned's profiles set, in s.
    const LONG_S: u32 = 10;
    let interval = &machine.tuning.stat_interval_s;
    let seconds = match set(interval)? {
        None => return fine("the kernel has none"),
        Some(seconds) if *seconds >= LONG_S => return fine(format!("{seconds} s")),
        Some(seconds) => seconds,
    };
    if isolated(machine)?.is_empty() {
        return not_applicable("no CPU is isolated");
    }
    let finding = Finding::new(
        Severity::Note,
        format!("Memory statistics are collected every {seconds} s"),
        "A worker runs on each CPU whose counters changed, also on isolated CPUs.",
        interval.how.clone(),
        Remedy::command(format!("sysctl vm.stat_interval={LONG_S}")),
    )
    .danger("The numbers in /proc/vmstat are up to 10 s old.");
    Ok(finding.into())
}
