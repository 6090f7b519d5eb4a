//! Waits for the ends of children, requests to end and messages on pipes at the same time.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::signals::{block, signal_set};

/// The meaning of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// SIGCHLD: a child has ended.
    ChildEnded,
    /// [`super::signal::LOOK`]: the parent may have died.
    ParentMayBeGone,
    /// SIGTERM, SIGINT, SIGHUP or SIGQUIT: a request to end.
    End,
}

/// Those signals, blocked and readable from a descriptor (signalfd(2)).
#[derive(Debug)]
pub struct ChildSignals {
    fd: OwnedFd,
}

impl ChildSignals {
    /// Blocks the signals for this thread and those that it starts from now on. Children executed through
    /// [`super::prepare`] have them unblocked.
    pub fn catch() -> io::Result<Self> {
        let set = signal_set(&[
            libc::SIGCHLD,
            super::signal::LOOK,
            libc::SIGTERM,
            libc::SIGINT,
            libc::SIGHUP,
            libc::SIGQUIT,
        ]);
        block(&set)?;
        // SAFETY: `set` is a valid signal set.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The meaning of the next pending signal; `None` if there is none. Several SIGCHLD may be merged into one.
    pub fn take(&self) -> Option<Notice> {
        // SAFETY: signalfd_siginfo consists of integers, for which zero is valid.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: `info` is writable for `size` bytes.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size) };
        (read == size as isize).then_some(match info.ssi_signo as i32 {
            libc::SIGCHLD => Notice::ChildEnded,
            super::signal::LOOK => Notice::ParentMayBeGone,
            _ => Notice::End,
        })
    }
}

impl AsRawFd for ChildSignals {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Whether a signal has stopped the child process `pid` since the last call, or since its start; also if it runs again by now.
/// The exit of the child is left to be waited for.
pub fn was_stopped(pid: u32) -> bool {
    let mut was_stopped = false;
    loop {
        // SAFETY: siginfo_t consists of integers, for which zero is valid.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WSTOPPED | libc::WCONTINUED | libc::WNOHANG;
        // SAFETY: `info` is writable; waitid(2) without WEXITED does not reap.
        let status = unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, flags) };
        // The kernel leaves si_signo at 0 if there is nothing to report.
        if status != 0 || info.si_signo == 0 {
            return was_stopped;
        }
        was_stopped = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn a_stop_is_noticed_even_if_the_child_runs_again() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        assert!(!was_stopped(pid));
        // SAFETY: kill takes integers; the child has not been waited for, so that its id is its own.
        let send = |signal| assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0);
        let wait_until = |what: &str, is_so: &dyn Fn() -> bool| {
            let deadline = Instant::now() + Duration::from_secs(10);
            while !is_so() {
                assert!(Instant::now() < deadline, "{what}");
                std::thread::yield_now();
            }
        };
        let state = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next())
        };
        send(libc::SIGSTOP);
        // SIGCONT would cancel a stop that is still pending.
        wait_until("it does not stop", &|| state() == Some('T'));
        send(libc::SIGCONT);
        wait_until("it does not continue", &|| state() != Some('T'));
        wait_until("no stop was noticed", &|| was_stopped(pid));
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success(), "its exit is left to be waited for");
    }
}
