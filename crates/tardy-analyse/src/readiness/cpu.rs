//! Other users of a CPU: a hypervisor, a second hardware thread, mitigations.

use super::{Finding, Judged, Machine, Remedy, RemedyKind, Severity, fine, known};

pub(super) fn hypervisor(machine: &Machine<'_>) -> Judged {
    let fact = &machine.facts.cpu.hypervisor;
    let name = match known(fact)?.as_str() {
        "none" => return fine("none"),
        "unnamed" => "a hypervisor",
        name => name,
    };
    let finding = Finding::new(
        Severity::Hurts,
        format!("This is a virtual machine, on {name}"),
        "The host can take a CPU away at any time, for any length of time, and no setting of the guest prevents it.",
        fact.how.clone(),
        Remedy {
            kind: RemedyKind::HostCommand,
            text: "chrt --fifo --pid 50 VCPU_THREAD && taskset --cpu-list --pid ISOLATED_CPU VCPU_THREAD"
                .to_owned(),
        },
    )
    .danger("A virtual CPU that never idles stops everything else on that CPU of the host.");
    Ok(finding.into())
}

pub(super) fn smt(machine: &Machine<'_>) -> Judged {
    let fact = &machine.facts.cpu.smt;
    let state = known(fact)?;
    if state != "on" {
        return fine(state.clone());
    }
    let finding = Finding::new(
        Severity::Hurts,
        "Two hardware threads share each core",
        "A task on the other thread uses half of the core and of its caches, whatever its priority.",
        fact.how.clone(),
        Remedy::command("echo off > /sys/devices/system/cpu/smt/control"),
    )
    .or(Remedy::boot_parameter("nosmt"))
    .danger("The machine has half as many CPUs.");
    Ok(finding.into())
}

pub(super) fn mitigations(machine: &Machine<'_>) -> Judged {
    let fact = &machine.facts.cpu.mitigations;
    let count = known(fact)?.values().filter(|state| state.starts_with("Mitigation")).count();
    if count == 0 {
        return fine("none active");
    }
    let what =
        if count == 1 { "1 hardware flaw is".to_owned() } else { format!("{count} hardware flaws are") };
    let finding = Finding::new(
        Severity::Note,
        format!("{what} worked around"),
        "Each entry into the kernel takes slightly longer.",
        fact.how.clone(),
        Remedy::boot_parameter("mitigations=off"),
    )
    .danger(
        "Any program can then read the memory of all others. Only for a machine that runs no foreign code.",
    );
    Ok(finding.into())
}
