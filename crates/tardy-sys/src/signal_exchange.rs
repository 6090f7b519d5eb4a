//! Signals as a load: handled by a handler, and exchanged between two processes.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::signals::{block, signal_set};

/// The number of signals that this process's handler has handled.
static HANDLED: AtomicU32 = AtomicU32::new(0);

/// The signal that partners exchange. It is blocked and waited for.
const TURN: i32 = libc::SIGUSR2;

/// The event that ended a wait for a partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The partner's signal arrived.
    Mine,
    /// A child of this process has ended.
    ChildEnded,
}

/// The prepared signal state of this process, which a forked child inherits.
#[derive(Debug)]
pub struct Exchange {
    _made: (),
}

impl Exchange {
    /// Installs the handler for one real-time signal, and blocks SIGUSR2 and SIGCHLD.
    ///
    /// # Errors
    /// sigaction(2)'s, if the C library reserves that signal.
    pub fn prepare() -> io::Result<Self> {
        extern "C" fn handle(_: i32) {
            HANDLED.fetch_add(1, Ordering::Relaxed);
        }
        block(&signal_set(&[TURN, libc::SIGCHLD]))?;
        let handler: extern "C" fn(i32) = handle;
        // SAFETY: sigaction is plain data for which zero is valid.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: `action` is valid, and its handler makes no call that is not async-signal-safe.
        match unsafe { libc::sigaction(handled_signal(), &raw const action, std::ptr::null_mut()) } {
            0 => Ok(Self { _made: () }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Sends this thread a signal; raise(3) returns after the handler has run.
    ///
    /// # Errors
    /// If the signal cannot be queued (EAGAIN, RLIMIT_SIGPENDING), or was not handled.
    pub fn handle_one(&self) -> io::Result<()> {
        let before = HANDLED.load(Ordering::Relaxed);
        // SAFETY: raise takes an integer; a handler for it is installed.
        if unsafe { libc::raise(handled_signal()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if HANDLED.load(Ordering::Relaxed) == before {
            return Err(io::Error::other("a signal was sent but not handled"));
        }
        Ok(())
    }

    /// Signals `partner` to continue.
    ///
    /// # Errors
    /// kill(2)'s: ESRCH if it is gone.
    pub fn give_turn(&self, partner: u32) -> io::Result<()> {
        crate::child::send(partner, TURN)
    }

    /// Waits for the partner's signal, or the end of a child.
    ///
    /// # Errors
    /// sigwaitinfo(2)'s except EINTR.
    pub fn wait(&self) -> io::Result<Turn> {
        let set = signal_set(&[TURN, libc::SIGCHLD]);
        loop {
            // SAFETY: `set` is a valid set; the origin of the signal is not requested.
            match unsafe { libc::sigwaitinfo(&raw const set, std::ptr::null_mut()) } {
                TURN => return Ok(Turn::Mine),
                libc::SIGCHLD => return Ok(Turn::ChildEnded),
                _ => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
    }
}

/// A real-time signal that the C libraries do not use.
fn handled_signal() -> i32 {
    libc::SIGRTMIN() + 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_handled_and_an_unknown_partner_is_an_error() {
        // Blocked signals are a property of the thread.
        std::thread::spawn(|| {
            let exchange = Exchange::prepare().unwrap();
            exchange.handle_one().unwrap();
            assert!(exchange.give_turn(0).is_err(), "pid 0 is not a process");
        })
        .join()
        .unwrap();
    }
}
