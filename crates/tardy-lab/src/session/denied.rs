//! What an emulator was killed for, from the kernel's log.

use std::time::{Duration, Instant};

use tardy_sys::confinement;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::kernel_log::KernelLog;

/// The type of a record about a system call that a filter denied (AUDIT_SECCOMP, linux/audit.h).
const RECORD: &str = "type=1326";

/// How long the record may come after the process has ended: a kernel thread writes it (kernel/audit.c, kauditd_thread), which
/// waits for its turn where other threads use all CPUs.
const PATIENCE: Duration = Duration::from_secs(2);

/// The system call for which the kernel killed the process `pid`, for the user. The kernel's log names it, unless this user
/// may not read the log or an audit daemon receives the records instead.
pub(super) fn system_call(pid: u32) -> String {
    match logged(pid) {
        Some(number) => describe(number),
        None => "make a system call that its sandbox denies".to_owned(),
    }
}

/// The number of the system call. `None` if the log cannot be read or has no record of the process in time.
fn logged(pid: u32) -> Option<u32> {
    let end = Instant::now() + PATIENCE;
    let mut log = KernelLog::open(&KernelFiles::real()).ok()?;
    loop {
        if let Some(number) = number(&log.rest().ok()?, pid) {
            return Some(number);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        // A signal may end it early, so the time that is left decides.
        log.wait(left.as_nanos() as u64).ok()?;
    }
}

/// The number of the system call, from the last record of the process.
fn number(log: &str, pid: u32) -> Option<u32> {
    let pid = format!("pid={pid}");
    let is_of_process = |line: &&str| line.contains(RECORD) && line.split(' ').any(|field| field == pid);
    let record = log.lines().rev().find(is_of_process)?;
    record.split(' ').find_map(|field| field.strip_prefix("syscall="))?.parse().ok()
}

fn describe(number: u32) -> String {
    let Some(name) = confinement::system_call_name(number) else {
        return format!("make the system call {number}, which its sandbox denies");
    };
    let attempt = match name {
        "execve" | "execveat" => "run a program",
        "clone" | "fork" | "vfork" => "start a process",
        "unshare" | "setns" => "change its namespaces",
        name if name.starts_with("sched_") || name == "setpriority" => "change its scheduling",
        _ => "change its user",
    };
    format!("{attempt} on the host (system call {name}), which its sandbox denies")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two records of one kernel: the number of `execve` is x86-64's.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_record_of_the_process_names_the_system_call() {
        let record = |pid: u32, call: u32| {
            format!(
                "audit: type=1326 audit(1795446783.009:2): auid=4294967295 uid=0 gid=0 ses=1 pid={pid} \
                 comm=\"qemu\" exe=\"/usr/bin/qemu\" sig=31 arch=c000003e syscall={call} compat=0 ip=0x7f code=0x80000000\n"
            )
        };
        let log = record(71, 59) + "tap0: up\n" + &record(712, 56);
        assert_eq!(number(&log, 71), Some(59));
        assert_eq!(number(&log, 712), Some(56));
        assert_eq!(number(&log, 7), None);
        assert_eq!(describe(59), "run a program on the host (system call execve), which its sandbox denies");
        assert_eq!(describe(1000), "make the system call 1000, which its sandbox denies");
    }
}
