//! SIGUSR1 and SIGUSR2 as requests: stored when they arrive, and handled when the program polls them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// SIGUSR1 arrived.
    First,
    /// SIGUSR2 arrived.
    Second,
}

const SIGNALS: [(i32, Request); 2] = [(libc::SIGUSR1, Request::First), (libc::SIGUSR2, Request::Second)];

static ASKED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

extern "C" fn remember(signal: i32) {
    if let Some(index) = SIGNALS.iter().position(|(known, _)| *known == signal) {
        ASKED[index].store(true, Ordering::Relaxed);
    }
}

/// Stores SIGUSR1 and SIGUSR2 from now on, instead of being ended by them. A wait in [`super::wait_readable`] ends
/// early if one reaches its thread; programs that this one starts have the signals' default actions.
///
/// # Errors
/// The kernel's.
pub fn remember_requests() -> io::Result<()> {
    for (signal, _) in SIGNALS {
        // SAFETY: sigaction is plain data, for which zero is valid. The handler only stores to an atomic, which is safe
        // in a handler (signal-safety(7)). SA_RESTART restarts reads and writes elsewhere; ppoll(2) is never restarted.
        let status = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = remember as extern "C" fn(i32) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Takes a pending request; several of the same kind count as one.
pub fn take_request() -> Option<Request> {
    let asked = SIGNALS.iter().zip(&ASKED).find(|(_, asked)| asked.swap(false, Ordering::Relaxed));
    asked.map(|((_, request), _)| *request)
}
