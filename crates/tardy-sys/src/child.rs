//! Child processes that leave nothing behind: started clean, tied to their parent, and ended with all their
//! descendants.
//!
//! There are three mechanisms, because each has a gap. PR_SET_PDEATHSIG reaches a child whose parent dies, but not
//! grandchildren, and executing a file with capabilities clears it. A subreaper (prctl(2), Linux 3.4) inherits
//! daemons after their double fork, but only while it lives. Killing by /proc reaches every process, but needs a
//! process that does it. So a chain of two subreapers manages every load, and each of them survives a SIGKILL of the
//! other.
//!
//! Alternatives not taken: control groups, which tardy may not be allowed to create; PID namespaces, which need
//! privileges and show a load another /proc than the machine's; process groups, which a process can leave with
//! setsid(2).

mod ending;
mod fork;
mod tree;
mod wait;

pub use ending::{Ended, How};
pub use fork::fork;
pub use tree::{end_descendants, end_strays, has_children};
pub use wait::{ChildSignals, Notice, was_stopped};

use std::io::{self, Write};
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::scheduling::{self, Scheduling};

/// Signals (signal(7)).
pub mod signal {
    /// Cannot be caught.
    pub const KILL: i32 = libc::SIGKILL;
    /// Cannot be caught, and stops the process until SIGCONT or SIGKILL.
    pub const STOP: i32 = libc::SIGSTOP;
    /// Continues a stopped process.
    pub const CONTINUE: i32 = libc::SIGCONT;
    /// The terminal was closed.
    pub const HANG_UP: i32 = libc::SIGHUP;
    /// Sent by Ctrl-C.
    pub const INTERRUPT: i32 = libc::SIGINT;
    /// Asks the process to end.
    pub const TERMINATE: i32 = libc::SIGTERM;
    /// Asks the process to check whether its parent is still there.
    pub const LOOK: i32 = libc::SIGUSR1;
    /// Ends a process that has used up its CPU time ([`crate::work_limits`]).
    pub const CPU_TIME: i32 = libc::SIGPROF;
    /// Ends a process whose sandbox denies a system call.
    pub const BAD_SYSTEM_CALL: i32 = libc::SIGSYS;
    /// Ends a process that writes beyond the longest file that it may write.
    pub const FILE_TOO_LONG: i32 = libc::SIGXFSZ;
}

/// Makes `command` start its child with no signal blocked, killed by SIGKILL when this thread dies, and with the
/// descriptors `inherited` in addition to its standard ones.
///
/// The setting is lost if the executed file has capabilities or is set-user-ID; tardy's own processes set it again
/// with [`tie_to_parent`].
pub fn prepare(command: &mut Command, inherited: &[RawFd]) {
    let inherited = inherited.to_vec();
    let parent = std::process::id();
    let clean = move || {
        let none = crate::signals::signal_set(&[]);
        // SAFETY: `none` is a valid set; the other calls take integers only. All of them are async-signal-safe.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            for fd in &inherited {
                if libc::fcntl(*fd, libc::F_SETFD, 0) != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
        }
        tie_to_parent(parent, signal::KILL)
    };
    // SAFETY: the closure runs between fork and exec and makes only async-signal-safe calls; it allocates nothing.
    unsafe { command.pre_exec(clean) };
}

/// Makes the child of `command` move into the cgroup whose `cgroup.procs` is `processes`, before it executes its program. The kernel checks
/// the rights of the process that opened the file.
pub fn join_cgroup(command: &mut Command, processes: std::fs::File) {
    // 0 stands for the process that writes.
    let join = move || (&processes).write_all(b"0");
    // SAFETY: the closure runs between fork and exec and makes one async-signal-safe call, write(2).
    unsafe { command.pre_exec(join) };
}

/// Makes the child of `command` inherit the descriptor `fd`, which must stay open until then.
pub(crate) fn inherit(command: &mut Command, fd: RawFd) {
    let keep = move || {
        // SAFETY: fcntl with F_SETFD takes integers only.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    };
    // SAFETY: the closure runs between fork and exec and makes one async-signal-safe call.
    unsafe { command.pre_exec(keep) };
}

/// Makes the child of `command`, and what it executes, gain no privileges by executing a file (PR_SET_NO_NEW_PRIVS, prctl(2)). It keeps
/// those of a parent that has them without its file, such as root.
pub fn gain_nothing(command: &mut Command) {
    let none: libc::c_ulong = 0;
    // SAFETY: prctl with this option takes integers only.
    let set =
        move || match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as libc::c_ulong, none, none, none) }
        {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
    // SAFETY: the closure runs between fork and exec and makes one async-signal-safe call.
    unsafe { command.pre_exec(set) };
}

/// Asks the kernel to send this process `signal` when its parent dies (prctl(2), PR_SET_PDEATHSIG).
///
/// The kernel treats the end of the thread that forked as the end of the parent. If that can happen, `signal` is
/// [`signal::LOOK`], and its receiver checks [`is_orphan`].
///
/// # Errors
/// If the parent, `parent`, has died already.
pub fn tie_to_parent(parent: u32, signal: i32) -> io::Result<()> {
    // SAFETY: prctl with PR_SET_PDEATHSIG takes one integer and touches no memory.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The parent may have died between the fork and the call above.
    if is_orphan(parent) { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(()) }
}

/// Whether `parent`, which started this process, is no longer its parent.
pub fn is_orphan(parent: u32) -> bool {
    std::os::unix::process::parent_id() != parent
}

/// Gives this process and its future children ordinary scheduling: SCHED_OTHER, nice 0, on `cpus`, or if that is empty on every CPU that
/// its cpuset allows. Returns whether nice 0 was granted, which can take a privilege.
pub fn be_ordinary(cpus: &[u32]) -> io::Result<bool> {
    scheduling::set(Scheduling::Other)?;
    match cpus {
        [] => scheduling::set_affinity_to_all()?,
        cpus => scheduling::set_affinity(cpus)?,
    }
    // SAFETY: setpriority takes integers only; who 0 is this process.
    Ok(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 0) } == 0)
}

/// Leaves the terminal's session and process group (setsid(2)), so that Ctrl-C and signals to the group, such as
/// those of `timeout`, do not reach this process; its parent ends it.
pub fn own_session() -> io::Result<()> {
    // SAFETY: setsid takes nothing.
    if unsafe { libc::setsid() } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes this process the parent of all its descendants' orphans (prctl(2), PR_SET_CHILD_SUBREAPER). Returns whether
/// the kernel supports it; before Linux 3.4 it does not, and daemons are not adopted.
pub fn adopt_orphans() -> bool {
    // SAFETY: prctl with PR_SET_CHILD_SUBREAPER takes one integer.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong) == 0 }
}

/// Sends `signal` to every process of the group that `leader` leads or led.
///
/// # Errors
/// If there is no such group, or it belongs to another user.
pub fn send_to_group(leader: u32, signal: i32) -> io::Result<()> {
    let leader = libc::pid_t::try_from(leader).ok().filter(|leader| *leader > 1);
    let Some(leader) = leader else { return Err(io::Error::from_raw_os_error(libc::EINVAL)) };
    // SAFETY: killpg takes integers only.
    if unsafe { libc::killpg(leader, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends `signal` to the process `pid`, and to no group.
pub fn send(pid: u32, signal: i32) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 1);
    let Some(pid) = pid else { return Err(io::Error::from_raw_os_error(libc::EINVAL)) };
    // SAFETY: kill takes integers only; the number is positive, so it does not refer to a group.
    if unsafe { libc::kill(pid, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes reads from `fd` non-blocking.
pub fn do_not_wait_on(fd: &impl std::os::fd::AsFd) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: fcntl with F_GETFL and F_SETFL takes integers only.
    let status = unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        if flags < 0 { flags } else { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) }
    };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_signal_goes_to_a_group_or_to_init() {
        for pid in [0, 1, u32::MAX] {
            assert!(send(pid, 0).is_err(), "{pid}");
        }
    }

    #[test]
    fn a_child_without_its_parent_gets_an_error() {
        assert!(tie_to_parent(u32::MAX, signal::KILL).is_err());
        // SAFETY: prctl with PR_SET_PDEATHSIG takes one integer; 0 clears the setting.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, 0 as libc::c_ulong) };
    }

    #[test]
    fn a_prepared_child_has_no_signal_blocked_and_only_the_descriptors_named() {
        let counters = crate::counters::Counters::create(1).unwrap();
        use std::os::fd::AsRawFd;
        let fd = counters.as_raw_fd();
        let mut command = Command::new("sh");
        command.args(["-c", "grep SigBlk: /proc/self/status; ls /proc/self/fd"]);
        prepare(&mut command, &[fd]);
        let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(out.starts_with("SigBlk:\t0000000000000000"), "{out}");
        assert!(out.lines().any(|line| line == fd.to_string()), "{fd} in {out}");
    }
}
