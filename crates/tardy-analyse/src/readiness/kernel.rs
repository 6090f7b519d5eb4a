//! The kernel: its kind, and how it was built and booted.

use tardy_record::facts::{Facts, Preemption, UnownedParameter};

use super::{Finding, Judged, Machine, Outcome, Remedy, RemedyKind, Severity, Unknown, fine, known};

/// Debugging options, each of which makes locks, allocations or memory accesses expensive.
const DEBUGGING: [&str; 10] = [
    "DEBUG_KMEMLEAK",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_OBJECTS",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "KASAN",
    "KCSAN",
    "LOCK_STAT",
    "PROVE_LOCKING",
    "PROVE_RCU",
    "SLUB_DEBUG_ON",
];

pub(super) fn real_time(machine: &Machine<'_>) -> Judged {
    let kernel = &machine.facts.kernel;
    let why = match kernel.co_kernel.get().filter(|core| *core != "none") {
        Some(core) => {
            format!("{core} tasks do not wait for Linux, but Linux tasks, which tardy measures, do.")
        }
        None => {
            "Kernel code that disables preemption or interrupts delays every task, however long it takes."
                .to_owned()
        }
    };
    let finding = match kernel.real_time.get() {
        Some(true) => return fine("PREEMPT_RT"),
        Some(false) => Finding::new(
            Severity::Blocks,
            "The kernel is not PREEMPT_RT",
            &why,
            kernel.real_time.how.clone(),
            real_time_kernel(machine.facts),
        )
        .danger("Throughput falls, and drivers outside of the kernel's source may not build."),
        None => Finding::new(
            Severity::Blocks,
            "It is unknown whether the kernel is PREEMPT_RT",
            "A kernel counts as real-time only by evidence, never by its name.",
            kernel.real_time.how.clone(),
            Remedy::command("uname -v; cat /sys/kernel/realtime; zgrep PREEMPT_RT /proc/config.gz"),
        ),
    };
    Ok(finding.into())
}

/// The command that installs the distribution's RT kernel, if such a kernel boots on this machine, else the kernel option.
fn real_time_kernel(facts: &Facts) -> Remedy {
    let built = Remedy::kernel_option("CONFIG_PREEMPT_RT=y");
    // A distribution's kernel would not boot on a board with a vendor's kernel.
    if facts.machine.board.get().is_some_and(|board| board.contains("Raspberry Pi")) {
        return built;
    }
    let distribution = facts.machine.distribution.get().map_or("", String::as_str);
    let architecture = match facts.kernel.machine.get().map(String::as_str) {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        Some("armv7l") => "armmp",
        _ => return built,
    };
    let first = distribution.split(' ').next().unwrap_or_default();
    match (first, architecture) {
        ("Debian", architecture) => Remedy::command(format!("apt install linux-image-rt-{architecture}")),
        ("Ubuntu", "amd64" | "arm64") => Remedy::command("pro enable realtime-kernel"),
        _ => built,
    }
}

pub(super) fn preemption(machine: &Machine<'_>) -> Judged {
    let kernel = &machine.facts.kernel;
    let model = known(&kernel.preemption)?;
    if matches!(model, Preemption::Rt | Preemption::Full) {
        return fine(model.name());
    }
    let is_dynamic = kernel.preempt_dynamic.get() == Some(&true);
    let remedy = if is_dynamic {
        // If the mode was read from debugfs, debugfs is mounted; otherwise it is unknown.
        let mounted = kernel.preemption.how.starts_with("/sys/kernel/debug");
        let mount = if mounted { "" } else { "mount -t debugfs none /sys/kernel/debug; " };
        Remedy::command(format!("{mount}echo full > /sys/kernel/debug/sched/preempt"))
    } else {
        Remedy::kernel_option("CONFIG_PREEMPT=y")
    };
    let finding = Finding::new(
        Severity::Hurts,
        format!("Preemption inside the kernel is {}", model.name()),
        "A waking task waits until a system call of another task ends or reaches a preemption point, or for the next tick.",
        kernel.preemption.how.clone(),
        remedy,
    )
    .danger("Throughput falls slightly.");
    Ok(if is_dynamic { finding.or(Remedy::boot_parameter("preempt=full")) } else { finding }.into())
}

pub(super) fn debugging(machine: &Machine<'_>) -> Judged {
    let config = &machine.facts.kernel.config;
    let options = known(config)?;
    let set: Vec<&str> = DEBUGGING.into_iter().filter(|option| options.contains_key(*option)).collect();
    let Some(first) = set.first() else { return fine("no expensive debugging option") };
    let finding = Finding::new(
        Severity::Hurts,
        format!("The kernel is built with debugging options: {}", set.join(", ")),
        "Each of these makes locks, allocations or memory accesses several times slower.",
        config.how.clone(),
        Remedy::kernel_option(format!("CONFIG_{first}=n")),
    )
    .danger("The errors that the options detect are no longer reported.");
    Ok(finding.into())
}

pub(super) fn boot_parameters(machine: &Machine<'_>) -> Judged {
    let parameters = &machine.facts.kernel.unowned_parameters;
    let unowned = known(parameters)?;
    if unowned.is_empty() {
        return fine("every boot parameter has an owner");
    }
    let finding = |parameter: &UnownedParameter| {
        let remedy = match &parameter.resembles {
            Some(meant) => Remedy::boot_parameter(meant.clone()),
            None => Remedy { kind: RemedyKind::RemoveBootParameter, text: parameter.parameter.clone() },
        };
        Finding::new(
            Severity::Note,
            format!("No code reads the boot parameter {}: {}", parameter.parameter, parameter.reason),
            "The kernel ignores it silently, so it changes nothing.",
            parameters.how.clone(),
            remedy,
        )
    };
    Ok(Outcome::Found(unowned.iter().map(finding).collect()))
}

pub(super) fn evidence(machine: &Machine<'_>) -> Judged {
    let kernel = &machine.facts.kernel;
    if kernel.preemption_evidence.is_empty() && kernel.contradictions.is_empty() {
        return Err(Unknown("no evidence".to_owned()));
    }
    if kernel.contradictions.is_empty() {
        return fine("no contradiction");
    }
    let finding = |contradiction: &String| {
        Finding::new(
            Severity::Note,
            format!("The evidence contradicts itself: {contradiction}"),
            "A file that describes another kernel leads to wrong conclusions.",
            "the evidence compared",
            Remedy::command("uname -v; cat /sys/kernel/realtime; zgrep PREEMPT /proc/config.gz"),
        )
    };
    Ok(Outcome::Found(kernel.contradictions.iter().map(finding).collect()))
}
