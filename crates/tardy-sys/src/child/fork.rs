//! A fork without exec, for up to forty tasks that share their sockets.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Forks. The child runs `task` and exits with the status that it returns. Returns the child's pid in the parent.
///
/// SIGKILL ends the child when the parent dies. The child never returns from here, runs no destructor of the parent and
/// flushes none of its buffers.
///
/// # Errors
/// If this process has more than one thread, whose locks the child would inherit in a locked state; otherwise
/// fork(2)'s: EAGAIN if there are too many processes.
pub fn fork(task: impl FnOnce() -> u8) -> io::Result<u32> {
    if threads()? != 1 {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a process with several threads must not fork",
        ));
    }
    let parent = std::process::id();
    // SAFETY: the process has one thread, this one, so no lock is held by a thread that the child will not have.
    match unsafe { libc::fork() } {
        pid if pid < 0 => Err(io::Error::last_os_error()),
        0 => {
            let tied = super::tie_to_parent(parent, super::signal::KILL).is_ok();
            let status = if tied { catch_unwind(AssertUnwindSafe(task)).unwrap_or(101) } else { 0 };
            // SAFETY: _exit ends the process and touches no memory.
            unsafe { libc::_exit(i32::from(status)) }
        }
        pid => Ok(pid as u32),
    }
}

fn threads() -> io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_with_several_threads_does_not_fork() {
        std::thread::spawn(|| assert!(super::fork(|| 0).is_err())).join().unwrap();
    }
}
