//! Power management: idle states, frequency, links.

use tardy_record::cpu_list;
use tardy_record::per_cpu::PerCpu;

use super::{Finding, Judged, Machine, Remedy, Severity, fine, known, set};

/// Idle states with a longer exit latency than this, in us, are reported.
const DEEP_US: u64 = 10;

pub(super) fn governor(machine: &Machine<'_>) -> Judged {
    let cpu = &machine.facts.cpu;
    if cpu.governor.get().is_none() && cpu.frequency_driver.get().is_some_and(|driver| driver == "none") {
        return fine("the kernel does not scale the frequency");
    }
    let governors = known(&cpu.governor)?;
    let limits = cpu.frequency_khz.get();
    // If both limits are equal, the frequency is constant with every governor.
    let moves = |cpu: &u32| {
        limits.and_then(|limits| limits.0.get(cpu)).is_none_or(|(lowest, highest)| lowest != highest)
    };
    let (cpus, names): (Vec<u32>, Vec<&str>) = governors
        .0
        .iter()
        .filter(|(cpu, governor)| governor.as_str() != "performance" && moves(cpu))
        .map(|(cpu, governor)| (*cpu, governor.as_str()))
        .unzip();
    let Some(first) = names.first() else { return fine(governors.line(String::clone)) };
    let finding = Finding::new(
        Severity::Hurts,
        format!("The frequency governor of CPU {} is {first}", cpu_list::format(&cpus)),
        "A CPU that was idle runs slowly when it wakes, and a change of frequency takes time.",
        cpu.governor.how.clone(),
        Remedy::command("cpupower frequency-set -g performance"),
    )
    .danger("The CPUs need more power and become hotter; without enough cooling they throttle.");
    Ok(finding.into())
}

pub(super) fn idle_states(machine: &Machine<'_>) -> Judged {
    let cpu = &machine.facts.cpu;
    let states = known(&cpu.idle_states)?;
    let deepest = states.iter().filter(|state| !state.disabled).max_by_key(|state| state.latency_us);
    let Some(deepest) = deepest.filter(|state| state.latency_us > DEEP_US) else {
        return fine(format!("no idle state takes more than {DEEP_US} us to leave"));
    };
    let is_x86 = matches!(cpu.idle_driver.get().map(String::as_str), Some("intel_idle" | "acpi_idle"));
    // intel_idle hands over to acpi_idle at max_cstate=0, which has its own limit.
    let boot = if is_x86 { "processor.max_cstate=1 intel_idle.max_cstate=1" } else { "cpuidle.off=1" };
    let finding = Finding::new(
        Severity::Hurts,
        format!("CPUs enter idle state {}, which takes {} us to leave", deepest.name, deepest.latency_us),
        "The first instruction after an interrupt waits that long, unless the program holds /dev/cpu_dma_latency at 0 \
         as `tardy run` does.",
        cpu.idle_states.how.clone(),
        Remedy::command(format!("cpupower idle-set --disable-by-latency {DEEP_US}")),
    )
    .or(Remedy::boot_parameter(boot))
    .danger("Idle CPUs need more power and become hotter, and the others reach their highest frequency less often.");
    Ok(finding.into())
}

pub(super) fn energy_preference(machine: &Machine<'_>) -> Judged {
    let tuning = machine.tuning;
    let other = |words: &PerCpu<String>| words.0.values().find(|word| *word != "performance").cloned();
    if let Some(word) = set(&tuning.energy_preference)?.and_then(other) {
        return Ok(saving(
            format!("The CPUs' energy performance preference is {word}"),
            &tuning.energy_preference.how,
            "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
        )
        .into());
    }
    let bias = set(&tuning.energy_bias)?.and_then(|bias| bias.0.values().max().copied());
    if let Some(bias) = bias.filter(|bias| *bias > 0) {
        return Ok(saving(
            format!("The CPUs' energy performance bias is {bias} of 15"),
            &tuning.energy_bias.how,
            "echo 0 | tee /sys/devices/system/cpu/cpu*/power/energy_perf_bias",
        )
        .into());
    }
    fine("performance, or the CPUs have none")
}

fn saving(what: String, how: &str, command: &str) -> Finding {
    Finding::new(
        Severity::Note,
        what,
        "The hardware raises the frequency later, and lowers it earlier, to save power.",
        how,
        Remedy::command(command),
    )
    .danger("The CPUs need more power.")
}

pub(super) fn turbo(machine: &Machine<'_>) -> Judged {
    let turbo = &machine.tuning.turbo;
    match set(turbo)? {
        None => return fine("the kernel does not control it"),
        Some(false) => return fine("off"),
        Some(true) => {}
    }
    let command = if turbo.how.ends_with("no_turbo") {
        format!("echo 1 > {}", turbo.how)
    } else {
        format!("echo 0 > {}", turbo.how)
    };
    let finding = Finding::new(
        Severity::Note,
        "CPUs exceed their nominal frequency (turbo)",
        "The frequency then depends on the temperature and on what the other cores do.",
        turbo.how.clone(),
        Remedy::command(command),
    )
    .danger(
        "All code becomes slower, often by a third: the worst case may improve, the typical one does not.",
    );
    Ok(finding.into())
}

pub(super) fn pcie(machine: &Machine<'_>) -> Judged {
    let policy = &machine.tuning.pcie_policy;
    let name = match set(policy)? {
        None => return fine("the kernel does not control it"),
        Some(name) if name.contains("save") => name,
        Some(name) => return fine(name.clone()),
    };
    let finding = Finding::new(
        Severity::Note,
        format!("The power policy of PCIe links is {name}"),
        "A link that sleeps takes microseconds to wake before a device can be accessed.",
        policy.how.clone(),
        Remedy::command(format!("echo performance > {}", policy.how)),
    )
    .or(Remedy::boot_parameter("pcie_aspm.policy=performance"))
    .danger("The devices need more power.");
    Ok(finding.into())
}
