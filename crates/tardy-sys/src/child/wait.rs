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
