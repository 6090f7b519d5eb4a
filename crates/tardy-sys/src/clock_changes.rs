//! Whether CLOCK_REALTIME was set: a timerfd with TFD_TIMER_CANCEL_ON_SET (timerfd_create(2)).
//!
//! The kernel reports each discontinuous change: clock_settime(2), settimeofday(2), adjtimex(2) with ADJ_SETOFFSET, a changed
//! offset between TAI and UTC, and a resume. It does not report an adjusted rate.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Further ahead than any run is long, in s since the epoch: the year 2255, or the last second that fits into 32 bits.
const NEVER_S: i64 = if cfg!(target_pointer_width = "64") { 9_000_000_000 } else { i32::MAX as i64 };

/// Watches for settings of the clock.
#[derive(Debug)]
pub struct ClockChanges(OwnedFd);

impl ClockChanges {
    /// Starts to watch.
    ///
    /// # Errors
    /// If the kernel has no timerfd, or does not know the flag (before Linux 3.0).
    pub fn watch() -> io::Result<Self> {
        // SAFETY: timerfd_create takes integers only.
        let fd =
            unsafe { libc::timerfd_create(libc::CLOCK_REALTIME, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just created and belongs to nothing else.
        let changes = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        changes.arm()?;
        Ok(changes)
    }

    /// Whether the clock was set since the last call.
    ///
    /// # Errors
    /// If the descriptor cannot be read or armed again.
    pub fn was_set(&self) -> io::Result<bool> {
        let mut expirations = 0u64;
        // SAFETY: the buffer is writable for its size.
        let read = unsafe {
            libc::read(self.0.as_raw_fd(), (&raw mut expirations).cast(), size_of_val(&expirations))
        };
        if read >= 0 {
            return Ok(false);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EAGAIN) => Ok(false),
            Some(libc::ECANCELED) => self.arm().map(|()| true),
            _ => Err(error),
        }
    }

    fn arm(&self) -> io::Result<()> {
        let never = libc::timespec { tv_sec: NEVER_S as _, tv_nsec: 0 };
        let once =
            libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: never };
        let flags = libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET;
        // SAFETY: `once` is a valid itimerspec; the old value is not requested.
        let status = unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), flags, &raw const once, std::ptr::null_mut())
        };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_nobody_sets_was_not_set() {
        let changes = ClockChanges::watch().unwrap();
        assert!(!changes.was_set().unwrap());
        assert!(!changes.was_set().unwrap());
    }
}
