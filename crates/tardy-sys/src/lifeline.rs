//! Dying with the process that started this one, even when that one is killed with SIGKILL.

use std::io;

/// Asks the kernel to kill this process when its parent dies (prctl(2), PR_SET_PDEATHSIG).
///
/// To be called by the child itself after exec: the setting is cleared when a binary with capabilities is executed.
///
/// # Errors
/// If the parent, `parent_pid`, has died already.
pub fn die_with_parent(parent_pid: u32) -> io::Result<()> {
    // SAFETY: prctl with PR_SET_PDEATHSIG takes one integer and touches no memory.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // Between the fork and the call above the parent may have died unseen.
    if std::os::unix::process::parent_id() != parent_pid {
        return Err(io::Error::other("the process that started this one is gone"));
    }
    Ok(())
}
