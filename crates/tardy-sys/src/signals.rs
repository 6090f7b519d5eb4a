//! Signals as events to wait for: SIGINT and SIGTERM end a run in an orderly way.

mod interruption;
mod requests;

pub use interruption::{be_interruptible, interrupt};
pub use requests::{Request, remember_requests, take_request};

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// SIGINT, SIGTERM and SIGHUP, blocked and readable from a descriptor.
#[derive(Debug)]
pub struct EndSignals {
    fd: OwnedFd,
}

impl EndSignals {
    /// Blocks the signals for this thread and those that it starts later.
    pub fn catch() -> io::Result<Self> {
        let set = signal_set(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
        block(&set)?;
        // SAFETY: `set` is a valid signal set.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The next signal that has arrived; `None` if there is none.
    pub fn take(&self) -> Option<i32> {
        // SAFETY: signalfd_siginfo consists of integers, for which zero is valid.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: `info` is writable for `size` bytes.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size) };
        (read == size as isize).then_some(info.ssi_signo as i32)
    }
}

impl AsRawFd for EndSignals {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Blocks SIGINT, SIGTERM and SIGHUP for good: a terminal's Ctrl-C reaches the whole process group, and the
/// supervisor ends the probe.
pub fn ignore_end_signals() -> io::Result<()> {
    block(&signal_set(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]))
}

pub(crate) fn signal_set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: sigset_t is plain data; sigemptyset initialises it and sigaddset only sets bits in it.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

pub(crate) fn block(set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: `set` is a valid signal set; the old mask is not requested.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Waits until one of `fds` is readable or closed, or until `timeout_ns` has passed. Returns for each whether it is
/// ready. A signal that is not blocked can end the wait early.
pub fn wait_readable(fds: &[RawFd], timeout_ns: u64) -> io::Result<Vec<bool>> {
    let mut polled: Vec<libc::pollfd> =
        fds.iter().map(|fd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }).collect();
    let timeout = crate::clock::timespec(timeout_ns.min(i64::MAX as u64) as i64);
    // SAFETY: `polled` is an array of the length given, `timeout` a valid timespec, and no mask is passed.
    let ready = unsafe {
        libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &raw const timeout, std::ptr::null())
    };
    if ready < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(polled.iter().map(|entry| ready > 0 && entry.revents != 0).collect())
}
