//! Watchdogs and polling that interrupt every CPU.

use tardy_record::cpu_list;

use super::isolation::isolated;
use super::{Finding, Judged, Machine, Remedy, Severity, fine, set};

pub(super) fn hard(machine: &Machine<'_>) -> Judged {
    let watchdog = &machine.tuning.hard_watchdog;
    match set(watchdog)? {
        None => return fine("not built"),
        Some(0) => return fine("off"),
        Some(_) => {}
    }
    let finding = Finding::new(
        Severity::Note,
        "The hard lockup detector is on (nmi_watchdog)",
        "A non-maskable interrupt stops each CPU for some microseconds about every 10 s, and a counter of the CPU is in use.",
        watchdog.how.clone(),
        Remedy::command("sysctl kernel.nmi_watchdog=0"),
    )
    .or(Remedy::boot_parameter("nmi_watchdog=0"))
    .danger("A CPU that hangs with interrupts off is no longer reported.");
    Ok(finding.into())
}

/// A detector whose mask leaves out every isolated CPU is fine.
pub(super) fn soft(machine: &Machine<'_>) -> Judged {
    let tuning = machine.tuning;
    match set(&tuning.soft_watchdog)? {
        None => return fine("not built"),
        Some(0) => return fine("off"),
        Some(_) => {}
    }
    let isolated = isolated(machine).unwrap_or_default();
    if let (false, Some(watched)) = (isolated.is_empty(), set(&tuning.watchdog_cpus)?)
        && !isolated.iter().any(|cpu| watched.contains(cpu))
    {
        return fine(format!("only on CPU {}", cpu_list::format(watched)));
    }
    let finding = Finding::new(
        Severity::Note,
        "The soft lockup detector is on",
        "A timer interrupts each CPU every 4 s and starts a thread that has priority over every real-time task.",
        tuning.soft_watchdog.how.clone(),
        Remedy::command("sysctl kernel.soft_watchdog=0"),
    )
    .or(Remedy::boot_parameter("nosoftlockup"))
    .danger("A CPU that hangs in the kernel is no longer reported.");
    Ok(finding.into())
}

pub(super) fn machine_checks(machine: &Machine<'_>) -> Judged {
    let interval = &machine.tuning.machine_check_s;
    let seconds = match set(interval)? {
        None => return fine("the kernel does not poll"),
        Some(0) => return fine("off"),
        Some(seconds) => seconds,
    };
    let finding = Finding::new(
        Severity::Note,
        format!("Each CPU polls for corrected machine checks every {seconds} s"),
        "A timer on each CPU reads the registers of all banks.",
        interval.how.clone(),
        Remedy::command(format!("echo 0 > {}", interval.how)),
    )
    .or(Remedy::boot_parameter("mce=ignore_ce"))
    .danger("Memory that begins to fail is no longer reported.");
    Ok(finding.into())
}
