//! Interrupts a thread in a system call that would otherwise wait for ever.

use std::io;

/// The signal for interruptions. No other program sends it to a probe.
const SIGNAL: i32 = libc::SIGUSR1;

extern "C" fn nothing(_: i32) {}

/// Lets [`interrupt`] end this process's system calls with `Interrupted`. Without a handler the signal would end the process,
/// and with a handler that restarts calls (SA_RESTART) it would not end a call (signal(7)).
///
/// # Errors
/// The kernel's.
pub fn be_interruptible() -> io::Result<()> {
    // SAFETY: sigaction is plain data, for which zero is valid: no flags, an empty mask. The handler does nothing.
    let status = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut())
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Interrupts the system call of thread `tid` of this process. The thread may not have entered the call yet: the
/// caller sets a flag for it first, and calls this until the thread has reacted.
///
/// # Errors
/// If there is no such thread.
pub fn interrupt(tid: u32) -> io::Result<()> {
    // SAFETY: tgkill takes integers only.
    let status = unsafe {
        libc::syscall(
            libc::SYS_tgkill,
            libc::c_long::from(std::process::id() as i32),
            tid as libc::c_long,
            libc::c_long::from(SIGNAL),
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::scheduling;

    #[test]
    fn a_blocked_thread_can_be_interrupted() {
        be_interruptible().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let (tell, told) = mpsc::channel();
        let (finished, end) = mpsc::channel();
        let reading = std::thread::spawn(move || {
            tell.send(scheduling::thread_id()).unwrap();
            let outcome = reader.read(&mut [0]).map_err(|error| error.kind());
            finished.send(()).unwrap();
            outcome
        });
        let tid = told.recv().unwrap();
        while end.recv_timeout(Duration::from_millis(1)).is_err() {
            interrupt(tid).unwrap();
        }
        assert_eq!(reading.join().unwrap(), Err(io::ErrorKind::Interrupted));
        drop(writer);
    }
}
