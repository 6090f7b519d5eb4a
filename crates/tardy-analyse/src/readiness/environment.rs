//! What surrounds the kernel: a container, file systems, lockdown.

use tardy_record::tuning::Mount;

use super::{Finding, Judged, Machine, Remedy, RemedyKind, Severity, fine, known, set};

/// Types of file systems that wait for a network or for another process.
const REMOTE: [&str; 7] = ["cifs", "fuse", "fuseblk", "nfs", "nfs4", "smb3", "9p"];
/// Types that store files on a disk.
const LOCAL: [&str; 10] =
    ["bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "ntfs3", "vfat", "xfs"];

pub(super) fn container(machine: &Machine<'_>) -> Judged {
    let fact = &machine.tuning.container;
    let name = known(fact)?;
    if name == "none" {
        return fine("none");
    }
    let finding = Finding::new(
        Severity::Note,
        format!("This is a container ({name})"),
        "The kernel, its parameters and its settings are the host's, and some are hidden here. Commands that change them \
         have to run on the host.",
        fact.how.clone(),
        Remedy { kind: RemedyKind::HostCommand, text: "tardy check".to_owned() },
    );
    Ok(finding.into())
}

pub(super) fn file_systems(machine: &Machine<'_>) -> Judged {
    /// File systems that are named; the others are counted.
    const NAMED: usize = 3;
    let fact = &machine.tuning.mounts;
    let slow: Vec<String> = known(fact)?.iter().filter_map(slow).collect();
    if slow.is_empty() {
        return fine("no slow type or option");
    }
    let more = match slow.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let finding = Finding::new(
        Severity::Note,
        format!("File systems that may be slow: {}{more}", slow[..slow.len().min(NAMED)].join(", ")),
        "A program that reads or writes there waits longer: for another process or machine, or for additional writes.",
        fact.how.clone(),
        Remedy::command("mount -o remount,relatime,async,nodiscard MOUNT_POINT"),
    )
    .danger("Without `sync`, a power failure loses what was written last. Remote file systems keep their delays.");
    Ok(finding.into())
}

/// The mount point with its type or option that makes it slow.
fn slow(mount: &Mount) -> Option<String> {
    let Mount { point, kind, options } = mount;
    let kind_name = kind.split('.').next().unwrap_or_default();
    if ["/run", "/sys", "/proc", "/dev"].iter().any(|top| point.starts_with(top)) {
        return None;
    }
    if REMOTE.contains(&kind_name) {
        return Some(format!("{point} ({kind})"));
    }
    if !LOCAL.contains(&kind_name) {
        return None;
    }
    let has = |name: &str| options.iter().any(|option| option == name);
    // The kernel lists neither option if every reading of a file updates its time.
    let strict = !has("ro") && !has("relatime") && !has("noatime");
    let slow = ["sync", "dirsync", "discard"].into_iter().find(|name| has(name));
    slow.or(strict.then_some("strictatime")).map(|option| format!("{point} ({option})"))
}

pub(super) fn lockdown(machine: &Machine<'_>) -> Judged {
    let fact = &machine.tuning.lockdown;
    let level = match set(fact)?.map(String::as_str) {
        None => return fine("not built"),
        Some("none") => return fine("none"),
        Some(level) => level,
    };
    let lost = if level == "confidentiality" {
        "Settings in debugfs, such as the fair server and the preemption mode, and tracing (`--causes`, timerlat, osnoise, \
         hwlat) are refused, also to root."
    } else {
        "Settings in debugfs, such as the fair server and the preemption mode, are refused, also to root."
    };
    let finding = Finding::new(
        Severity::Note,
        format!("The kernel is locked down: {level}"),
        lost,
        fact.how.clone(),
        Remedy { kind: RemedyKind::RemoveBootParameter, text: format!("lockdown={level}") },
    )
    .or(Remedy {
        kind: RemedyKind::Hardware,
        text: "Secure Boot off, if the distribution locks down because of it".to_owned(),
    })
    .danger("Root can then change the running kernel.");
    Ok(finding.into())
}
