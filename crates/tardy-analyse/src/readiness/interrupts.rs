//! Where interrupts go, and who shares them.

use tardy_record::cpu_list;

use super::isolation::{isolated, others};
use super::{Finding, Judged, Machine, Remedy, RemedyKind, Severity, fine, known, not_applicable};

pub(super) fn affinity(machine: &Machine<'_>) -> Judged {
    let isolated = isolated(machine)?;
    if isolated.is_empty() {
        return not_applicable("no CPU is isolated");
    }
    let fact = &machine.facts.cpu.irq_affinity;
    let interrupts = cpu_list::parse(known(fact)?).unwrap_or_default();
    let rest = others(machine, &isolated)?;
    if rest.is_empty() {
        return not_applicable("every CPU is isolated");
    }
    if !isolated.iter().any(|cpu| interrupts.contains(cpu)) {
        return fine(format!("new interrupts go to CPU {}", cpu_list::format(&interrupts)));
    }
    let finding = Finding::new(
        Severity::Hurts,
        format!("Interrupts are allowed on isolated CPUs: {}", cpu_list::format(&isolated)),
        "An interrupt preempts every task, so tasks there are as late as the longest handler.",
        fact.how.clone(),
        Remedy::boot_parameter(format!("irqaffinity={}", cpu_list::format(&rest))),
    )
    .danger("The remaining CPUs handle all interrupts, and fast devices may lose throughput.");
    Ok(finding.into())
}

pub(super) fn irqbalance(machine: &Machine<'_>) -> Judged {
    let runs = &machine.tuning.irqbalance;
    if !*known(runs)? {
        return fine("not running");
    }
    let finding = Finding::new(
        Severity::Note,
        "irqbalance is running",
        "Every 10 s it may move interrupts to other CPUs, also those that were placed by hand.",
        runs.how.clone(),
        Remedy::command("systemctl disable --now irqbalance"),
    )
    .or(Remedy::command(
        "echo IRQBALANCE_BANNED_CPULIST=CPUS >> /etc/default/irqbalance && systemctl restart irqbalance",
    ))
    .danger("Interrupts stay where they are, often all on one CPU.");
    Ok(finding.into())
}

pub(super) fn shared(machine: &Machine<'_>) -> Judged {
    /// Interrupts that are named; the others are counted.
    const NAMED: usize = 3;
    let fact = &machine.tuning.shared_interrupts;
    let shared = known(fact)?;
    if shared.is_empty() {
        return fine("none");
    }
    let more = match shared.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first = &shared[..shared.len().min(NAMED)];
    let finding = Finding::new(
        Severity::Note,
        format!("Devices share an interrupt: {}{more}", first.join("; ")),
        "The handlers of all its devices run for each interrupt of one of them.",
        fact.how.clone(),
        Remedy {
            kind: RemedyKind::Hardware,
            text: "another slot, message-signalled interrupts (MSI), or a driver that is not loaded"
                .to_owned(),
        },
    );
    Ok(finding.into())
}
