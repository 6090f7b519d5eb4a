//! Getting a thread out of a system call that would wait for ever.

use std::io;

/// What a thread is interrupted with. Nobody else sends it to a probe.
const SIGNAL: i32 = libc::SIGUSR1;

extern "C" fn nothing(_: i32) {}

/// Lets [`interrupt`] end this process's system calls with `Interrupted`. A signal that has no handler would end the
/// process, and one whose handler restarts calls (SA_RESTART) would end none (signal(7)).
///
/// # Errors
/// Whatever the kernel says.
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

/// Interrupts the system call that the thread `tid` of this process is in. It may be just before one: whoever wants it
/// out says so elsewhere first, and calls this until it is.
///
/// # Errors
/// If there is no such thread any more.
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
    fn a_thread_that_reads_what_never_comes_is_got_out() {
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
