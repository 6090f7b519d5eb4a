//! Limits of the scheduler for real-time tasks and for this user.

use tardy_record::facts::Facts;

use super::{Finding, Remedy, Severity, version};

/// The memory that the probe and its histograms need to lock, in kB.
const LOCKABLE_KB: u64 = 64 * 1024;
/// The default priority of threaded interrupts (kernel/irq/manage.c).
const INTERRUPT_PRIORITY: u32 = 50;

pub(super) fn judge(facts: &Facts, findings: &mut Vec<Finding>) {
    findings.extend(no_priority(facts));
    findings.extend(no_group_runtime(facts));
    findings.extend(little_memory(facts));
    findings.extend(throttling(facts));
    findings.extend(fair_server(facts));
}

fn setcap() -> Remedy {
    Remedy::command(
        "chgrp GROUP /path/to/tardy && chmod 0750 /path/to/tardy && setcap cap_sys_nice,cap_ipc_lock+ep /path/to/tardy",
    )
}

fn no_priority(facts: &Facts) -> Option<Finding> {
    let allowed = *facts.scheduling.allowed_priority.get()?;
    if allowed > INTERRUPT_PRIORITY {
        return None;
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
    let mut finding =
        Finding::new(severity, what, why, facts.scheduling.allowed_priority.how.clone(), setcap());
    finding.alternatives = vec![
        Remedy::command("ulimit -r 99; ulimit -l unlimited; exec su USER"),
        Remedy::command(
            "groupadd -f realtime && usermod -aG realtime USER && printf '@realtime - rtprio 99\\n@realtime - memlock \
             unlimited\\n' > /etc/security/limits.d/99-realtime.conf",
        ),
    ];
    Some(finding)
}

fn no_group_runtime(facts: &Facts) -> Option<Finding> {
    let limit = &facts.scheduling.cgroup_rt;
    limit.get().filter(|limit| *limit == "0")?;
    Some(Finding::new(
        Severity::Blocks,
        "This process's cgroup has no real-time runtime",
        "The kernel refuses every real-time policy in it (CONFIG_RT_GROUP_SCHED).",
        limit.how.clone(),
        Remedy::command(format!("echo 950000 > {}", limit.how)),
    ))
}

/// Too little lockable memory; not reported in addition to a missing priority, which has the same remedy.
fn little_memory(facts: &Facts) -> Option<Finding> {
    if facts.scheduling.allowed_priority.get() == Some(&0) {
        return None;
    }
    let kb: u64 = facts.scheduling.lockable_memory.get()?.parse().ok()?;
    if kb >= LOCKABLE_KB {
        return None;
    }
    let mut finding = Finding::new(
        Severity::Hurts,
        format!("This user may lock only {kb} kB of memory"),
        "A page that is not locked may have to be read from disk when it is needed.",
        facts.scheduling.lockable_memory.how.clone(),
        setcap(),
    );
    finding.alternatives = vec![Remedy::command("ulimit -l unlimited; exec su USER")];
    Some(finding)
}

/// The runtime of real-time tasks and the period, both in us, after which the kernel stops them; `None` if it does not.
///
/// Since 6.12 the limit applies only to real-time groups; the fair server has replaced it.
pub(crate) fn throttle(facts: &Facts) -> Option<(i64, i64)> {
    let runtime = *facts.scheduling.rt_runtime_us.get().filter(|us| **us >= 0)?;
    let groups = facts.kernel.config.get().is_none_or(|config| config.contains_key("RT_GROUP_SCHED"));
    if version(facts).is_some_and(|version| version >= (6, 12)) && !groups {
        return None;
    }
    Some((runtime, facts.scheduling.rt_period_us.get().copied().unwrap_or(1_000_000)))
}

fn throttling(facts: &Facts) -> Option<Finding> {
    let (runtime, period) = throttle(facts)?;
    Some(Finding::new(
        Severity::Hurts,
        format!("Real-time tasks are throttled to {runtime} us in {period}"),
        "If they run longer than that on a CPU, the kernel stops all of them for the rest of the period.",
        facts.scheduling.rt_runtime_us.how.clone(),
        Remedy::command("echo -1 > /proc/sys/kernel/sched_rt_runtime_us"),
    ))
}

/// The runtime and the period of the fair server, in ns; `None` if it is disabled, absent or unknown.
pub(crate) fn fair_share(facts: &Facts) -> Option<(u64, u64)> {
    let servers = facts.scheduling.fair_server.get()?;
    let server = servers.0.values().find(|server| server.runtime_ns > 0)?;
    Some((server.runtime_ns, server.period_ns))
}

fn fair_server(facts: &Facts) -> Option<Finding> {
    let (runtime, period) = fair_share(facts).map(|(a, b)| (a / 1_000_000, b / 1_000_000))?;
    Some(Finding::new(
        Severity::Hurts,
        format!("The fair server takes up to {runtime} ms in {period} ms for ordinary tasks"),
        "If real-time tasks leave no time to others, they are interrupted for that long.",
        facts.scheduling.fair_server.how.clone(),
        Remedy::command(
            "for cpu in /sys/kernel/debug/sched/fair_server/cpu*; do echo 0 > $cpu/runtime; done",
        ),
    ))
}
