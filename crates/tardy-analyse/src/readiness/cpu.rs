//! Processors: frequency, idle states, isolation, and other users of a core.

use tardy_record::cpu_list;
use tardy_record::facts::Facts;

use super::{Finding, Remedy, RemedyKind, Severity};

/// Idle states with a longer exit latency than this, in us, are reported.
const DEEP_US: u64 = 10;

pub(super) fn judge(facts: &Facts, findings: &mut Vec<Finding>) {
    findings.extend(hypervisor(facts));
    findings.extend(governor(facts));
    findings.extend(deep_sleep(facts));
    findings.extend(shared_cores(facts));
    findings.extend(interrupts_on_isolated(facts));
    findings.extend(nothing_isolated(facts));
    findings.extend(mitigations(facts));
}

fn hypervisor(facts: &Facts) -> Option<Finding> {
    let name = facts.cpu.hypervisor.get().filter(|name| *name != "none")?;
    let name = if name == "unnamed" { "a hypervisor" } else { name };
    Some(Finding::new(
        Severity::Hurts,
        format!("This is a virtual machine, on {name}"),
        "The host can take a CPU away at any time, for any length of time, and no setting of the guest prevents it.",
        facts.cpu.hypervisor.how.clone(),
        Remedy {
            kind: RemedyKind::HostCommand,
            text: "chrt --fifo --pid 50 VCPU_THREAD && taskset --cpu-list --pid ISOLATED_CPU VCPU_THREAD"
                .to_owned(),
        },
    ))
}

fn governor(facts: &Facts) -> Option<Finding> {
    let governors = facts.cpu.governor.get()?;
    let limits = facts.cpu.frequency_khz.get();
    // If both limits are equal, the frequency is constant with every governor.
    let moves = |cpu: &u32| limits.and_then(|limits| limits.0.get(cpu)).is_none_or(|(low, high)| low != high);
    let (cpus, names): (Vec<u32>, Vec<&str>) = governors
        .0
        .iter()
        .filter(|(cpu, governor)| governor.as_str() != "performance" && moves(cpu))
        .map(|(cpu, governor)| (*cpu, governor.as_str()))
        .unzip();
    let first = names.first()?;
    Some(Finding::new(
        Severity::Hurts,
        format!("The frequency governor of CPU {} is {first}", cpu_list::format(&cpus)),
        "A CPU that was idle runs slowly when it wakes, and a change of frequency takes time.",
        facts.cpu.governor.how.clone(),
        Remedy::command("cpupower frequency-set -g performance"),
    ))
}

fn deep_sleep(facts: &Facts) -> Option<Finding> {
    let states = facts.cpu.idle_states.get()?;
    let deepest = states.iter().filter(|state| !state.disabled).max_by_key(|state| state.latency_us)?;
    if deepest.latency_us <= DEEP_US {
        return None;
    }
    let mut finding = Finding::new(
        Severity::Hurts,
        format!("CPUs enter idle state {}, which takes {} us to leave", deepest.name, deepest.latency_us),
        "The first instruction after an interrupt waits that long, unless the program holds /dev/cpu_dma_latency at 0 \
         as `tardy run` does.",
        facts.cpu.idle_states.how.clone(),
        Remedy::command(format!("cpupower idle-set --disable-by-latency {DEEP_US}")),
    );
    finding.alternatives.push(Remedy::boot_parameter("cpuidle.off=1"));
    Some(finding)
}

fn shared_cores(facts: &Facts) -> Option<Finding> {
    facts.cpu.smt.get().filter(|smt| *smt == "on")?;
    Some(Finding::new(
        Severity::Hurts,
        "Two hardware threads share each core",
        "A task on the other thread uses half of the core and of its caches, whatever its priority.",
        facts.cpu.smt.how.clone(),
        Remedy::command("echo off > /sys/devices/system/cpu/smt/control"),
    ))
}

fn interrupts_on_isolated(facts: &Facts) -> Option<Finding> {
    let isolated = cpu_list::parse(facts.cpu.isolated.get()?)?;
    let interrupts = cpu_list::parse(facts.cpu.irq_affinity.get()?)?;
    let online = facts.cpu.online.get()?;
    let rest: Vec<u32> = online.iter().copied().filter(|cpu| !isolated.contains(cpu)).collect();
    if rest.is_empty() || !isolated.iter().any(|cpu| interrupts.contains(cpu)) {
        return None;
    }
    Some(Finding::new(
        Severity::Hurts,
        format!("Interrupts are allowed on isolated CPUs: {}", cpu_list::format(&isolated)),
        "An interrupt preempts every task, so tasks there are as late as the longest handler.",
        facts.cpu.irq_affinity.how.clone(),
        Remedy::boot_parameter(format!("irqaffinity={}", cpu_list::format(&rest))),
    ))
}

fn nothing_isolated(facts: &Facts) -> Option<Finding> {
    let online = facts.cpu.online.get().filter(|cpus| cpus.len() > 1)?;
    facts.cpu.isolated.get().filter(|list| *list == "none")?;
    let last = online.last()?;
    Some(Finding::new(
        Severity::Note,
        "No CPU is isolated",
        "On an isolated CPU a real-time task shares neither caches nor run queue with other tasks.",
        facts.cpu.isolated.how.clone(),
        Remedy::boot_parameter(format!("isolcpus={last}")),
    ))
}

fn mitigations(facts: &Facts) -> Option<Finding> {
    let flaws = facts.cpu.mitigations.get()?;
    let count = flaws.values().filter(|state| state.starts_with("Mitigation")).count();
    if count == 0 {
        return None;
    }
    let what =
        if count == 1 { "1 hardware flaw is".to_owned() } else { format!("{count} hardware flaws are") };
    Some(Finding::new(
        Severity::Note,
        format!("{what} worked around"),
        "Each entry into the kernel takes slightly longer; without the mitigations, a program may read the \
         memory of any other.",
        facts.cpu.mitigations.how.clone(),
        Remedy::boot_parameter("mitigations=off"),
    ))
}
