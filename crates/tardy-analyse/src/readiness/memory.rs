//! Memory management in the background.

use super::{Finding, Judged, Machine, Remedy, Severity, fine, set};

/// Up to this value of vm.swappiness, the kernel keeps the pages of programs as long as it can.
const SWAPPINESS: u32 = 10;

pub(super) fn huge_pages(machine: &Machine<'_>) -> Judged {
    let mode = &machine.tuning.huge_pages;
    match set(mode)?.map(String::as_str) {
        None => return fine("not built"),
        Some("always") => {}
        Some(mode) => return fine(mode),
    }
    let finding = Finding::new(
        Severity::Hurts,
        "Every program gets transparent huge pages",
        "khugepaged moves memory of running programs, whose accesses wait for it, and one page fault may clear 2 MiB.",
        mode.how.clone(),
        Remedy::command(format!("echo madvise > {}", mode.how)),
    )
    .or(Remedy::boot_parameter("transparent_hugepage=madvise"))
    .danger("Programs with much memory become slower, unless they request huge pages.");
    Ok(finding.into())
}

pub(super) fn swap(machine: &Machine<'_>) -> Judged {
    let areas = &machine.tuning.swap_areas;
    let list = match set(areas)? {
        None => return fine("not built"),
        Some(list) if list.is_empty() => return fine("no swap area on a disk"),
        Some(list) => list,
    };
    let swappiness = set(&machine.tuning.swappiness)?.copied();
    if let Some(low) = swappiness.filter(|swappiness| *swappiness <= SWAPPINESS) {
        return fine(format!("swappiness {low}"));
    }
    let finding = Finding::new(
        Severity::Note,
        format!("Memory may be swapped to {}", list.join(", ")),
        "A program that does not lock its memory waits for the disk, for milliseconds, when it needs such a page.",
        areas.how.clone(),
        Remedy::command("swapoff -a"),
    )
    .or(Remedy::command(format!("sysctl vm.swappiness={SWAPPINESS}")))
    .danger("Without swap, the kernel ends programs as soon as memory runs out.");
    Ok(finding.into())
}

pub(super) fn ksm(machine: &Machine<'_>) -> Judged {
    let run = &machine.tuning.ksm;
    match set(run)? {
        None => return fine("not built"),
        Some(1) => {}
        Some(_) => return fine("off"),
    }
    let finding = Finding::new(
        Severity::Hurts,
        "The kernel merges equal pages (KSM)",
        "ksmd compares pages all the time, and the first write to a merged page copies it, also in locked memory.",
        run.how.clone(),
        Remedy::command(format!("echo 2 > {}", run.how)),
    )
    .danger("Virtual machines that shared pages need more memory, at once.");
    Ok(finding.into())
}

pub(super) fn numa_balancing(machine: &Machine<'_>) -> Judged {
    let balancing = &machine.tuning.numa_balancing;
    match set(balancing)? {
        None => return fine("not built"),
        Some(0) => return fine("off"),
        Some(_) => {}
    }
    let finding = Finding::new(
        Severity::Hurts,
        "Automatic NUMA balancing is on",
        "The kernel unmaps pages to see who uses them: the next access is a page fault, and may move the page, also in \
         locked memory.",
        balancing.how.clone(),
        Remedy::command("sysctl kernel.numa_balancing=0"),
    )
    .or(Remedy::boot_parameter("numa_balancing=disable"))
    .danger("Programs that are not placed with numactl may run far from their memory.");
    Ok(finding.into())
}
