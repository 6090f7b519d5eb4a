//! How a child ended.

use std::fmt;
use std::io;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It exited with this status.
    Exited(i32),
    /// It was killed by this signal.
    Killed(i32),
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |signal| match signal {
            libc::SIGABRT => " (SIGABRT)",
            libc::SIGBUS => " (SIGBUS)",
            libc::SIGFPE => " (SIGFPE)",
            libc::SIGILL => " (SIGILL)",
            libc::SIGKILL => " (SIGKILL)",
            libc::SIGPIPE => " (SIGPIPE)",
            libc::SIGSEGV => " (SIGSEGV)",
            libc::SIGTERM => " (SIGTERM)",
            _ => "",
        };
        match self {
            Self::Exited(status) => write!(f, "exit status {status}"),
            Self::Killed(signal) => write!(f, "killed by signal {signal}{}", name(*signal)),
        }
    }
}

/// A child that has ended and been waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its pid.
    pub pid: u32,
    /// How it ended.
    pub how: How,
}

impl Ended {
    /// Waits for any child that has already ended (waitpid(2)); returns `None` at once if there is none.
    pub fn take() -> Option<Self> {
        wait(libc::WNOHANG).unwrap_or_default()
    }

    /// Waits for any child to end.
    ///
    /// # Errors
    /// ECHILD if there are no children.
    pub fn wait() -> io::Result<Self> {
        loop {
            match wait(0) {
                Ok(Some(ended)) => return Ok(ended),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }
}

fn wait(flags: i32) -> io::Result<Option<Ended>> {
    let mut status = 0;
    // SAFETY: `status` is writable.
    match unsafe { libc::waitpid(-1, &raw mut status, flags) } {
        0 => Ok(None),
        pid if pid < 0 => Err(io::Error::last_os_error()),
        pid => {
            let how = if libc::WIFSIGNALED(status) {
                How::Killed(libc::WTERMSIG(status))
            } else {
                How::Exited(libc::WEXITSTATUS(status))
            };
            Ok(Some(Ended { pid: pid as u32, how }))
        }
    }
}
