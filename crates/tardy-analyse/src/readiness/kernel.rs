//! The kernel: its kind, and how it was built and booted.

use tardy_record::facts::{Facts, Preemption};

use super::{Finding, Remedy, RemedyKind, Severity};

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

pub(super) fn judge(facts: &Facts, findings: &mut Vec<Finding>) {
    findings.extend(not_real_time(facts));
    findings.extend(not_fully_preemptible(facts));
    findings.extend(built_for_debugging(facts));
    findings.extend(facts.kernel.contradictions.iter().map(|contradiction| {
        Finding::new(
            Severity::Note,
            format!("The evidence contradicts itself: {contradiction}"),
            "A file that describes another kernel leads to wrong conclusions.",
            "the evidence compared",
            Remedy::command("uname -v; cat /sys/kernel/realtime; zgrep PREEMPT /proc/config.gz"),
        )
    }));
    unowned_parameters(facts, findings);
}

fn not_real_time(facts: &Facts) -> Option<Finding> {
    let kernel = &facts.kernel;
    let why = match kernel.co_kernel.get().filter(|core| *core != "none") {
        Some(core) => {
            format!("{core} tasks do not wait for Linux, but Linux tasks, which tardy measures, do.")
        }
        None => {
            "Kernel code that runs with preemption or interrupts disabled delays every task, however long it \
                 takes."
                .to_owned()
        }
    };
    match kernel.real_time.get() {
        Some(true) => None,
        Some(false) => Some(Finding::new(
            Severity::Blocks,
            "The kernel is not PREEMPT_RT",
            &why,
            kernel.real_time.how.clone(),
            real_time_kernel(facts),
        )),
        None => Some(Finding::new(
            Severity::Blocks,
            "It is unknown whether the kernel is PREEMPT_RT",
            "A kernel counts as real-time only by evidence, never by its name.",
            kernel.real_time.how.clone(),
            Remedy::command("uname -v; cat /sys/kernel/realtime; zgrep PREEMPT_RT /proc/config.gz"),
        )),
    }
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

fn not_fully_preemptible(facts: &Facts) -> Option<Finding> {
    let kernel = &facts.kernel;
    let model =
        kernel.preemption.get().filter(|model| !matches!(model, Preemption::Rt | Preemption::Full))?;
    let remedy = if kernel.preempt_dynamic.get() == Some(&true) {
        // If the mode was read from debugfs, debugfs is mounted; otherwise it is unknown.
        let mounted = kernel.preemption.how.starts_with("/sys/kernel/debug");
        let mount = if mounted { "" } else { "mount -t debugfs none /sys/kernel/debug; " };
        Remedy::command(format!("{mount}echo full > /sys/kernel/debug/sched/preempt"))
    } else {
        Remedy::kernel_option("CONFIG_PREEMPT=y")
    };
    let mut finding = Finding::new(
        Severity::Hurts,
        format!("Preemption inside the kernel is {}", model.name()),
        "A waking task waits until a system call of another task ends or reaches a preemption point, or for the next tick.",
        kernel.preemption.how.clone(),
        remedy,
    );
    if kernel.preempt_dynamic.get() == Some(&true) {
        finding.alternatives.push(Remedy::boot_parameter("preempt=full"));
    }
    Some(finding)
}

fn built_for_debugging(facts: &Facts) -> Option<Finding> {
    let config = facts.kernel.config.get()?;
    let set: Vec<&str> = DEBUGGING.into_iter().filter(|option| config.contains_key(*option)).collect();
    let first = set.first()?;
    Some(Finding::new(
        Severity::Hurts,
        format!("The kernel is built with debugging options: {}", set.join(", ")),
        "Each of these makes locks, allocations or memory accesses several times slower.",
        facts.kernel.config.how.clone(),
        Remedy::kernel_option(format!("CONFIG_{first}=n")),
    ))
}

fn unowned_parameters(facts: &Facts, findings: &mut Vec<Finding>) {
    for unowned in facts.kernel.unowned_parameters.get().into_iter().flatten() {
        let remedy = match &unowned.resembles {
            Some(meant) => Remedy::boot_parameter(meant.clone()),
            None => Remedy { kind: RemedyKind::RemoveBootParameter, text: unowned.parameter.clone() },
        };
        findings.push(Finding::new(
            Severity::Note,
            format!("No code reads the boot parameter {}: {}", unowned.parameter, unowned.reason),
            "The kernel ignores it silently, so it changes nothing.",
            facts.kernel.unowned_parameters.how.clone(),
            remedy,
        ));
    }
}
