//! Privileges that this program has and its caller lacks: those of a file with capabilities (setcap(8)) or with the
//! set-user-ID or set-group-ID bit.
//!
//! Everything that the caller controls is then hostile: the arguments, the environment, and the descriptors. The kernel
//! reports such a program by AT_SECURE (getauxval(3)). Security modules set it as well, without granting anything.
//! Under PR_SET_NO_NEW_PRIVS (prctl(2)) executing a file grants nothing, but AT_SECURE stays.

pub mod capabilities;

use std::ffi::OsString;
use std::io;
use std::sync::OnceLock;

use crate::processes;

/// The directory of a user's runtime files, as systemd names it (file-hierarchy(7)).
const RUNTIME: &str = "/run/user";
const RUNTIME_VARIABLE: &str = "XDG_RUNTIME_DIR";
/// How the names of variables begin that choose files and directories.
const UNTRUSTED: [&str; 3] = ["TMPDIR", "XDG_", "TARDY_"];

/// Whether executing this program granted privileges to its caller. The answer at the first call remains.
pub fn were_gained() -> bool {
    static GAINED: OnceLock<bool> = OnceLock::new();
    *GAINED.get_or_init(|| {
        // SAFETY: these calls take integers only and touch no memory.
        let (is_secure, ids) = unsafe {
            let is_secure = libc::getauxval(libc::AT_SECURE) != 0;
            (is_secure, [libc::getuid(), libc::geteuid(), libc::getgid(), libc::getegid()])
        };
        let [uid, euid, gid, egid] = ids;
        let has_more = euid != uid || egid != gid || capabilities::any_permitted();
        is_secure && uid != 0 && has_more && !executing_grants_nothing()
    })
}

/// Whether this process acts as root: its effective user id is 0.
pub fn is_root() -> bool {
    // SAFETY: geteuid takes nothing.
    unsafe { libc::geteuid() == 0 }
}

/// Whether this process acts as another user or group than its caller (the set-user-ID and set-group-ID bits).
pub fn acts_as_another() -> bool {
    // SAFETY: these calls take nothing.
    unsafe { libc::geteuid() != libc::getuid() || libc::getegid() != libc::getgid() }
}

/// Whether the privileges of this process are not those of an ordinary caller, so that neither PATH nor the current
/// directory may choose a program.
pub fn are_high() -> bool {
    is_root() || were_gained()
}

/// PR_GET_NO_NEW_PRIVS (prctl(2), Linux 3.5).
fn executing_grants_nothing() -> bool {
    let none: libc::c_ulong = 0;
    // SAFETY: prctl with this option takes integers only.
    unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, none, none, none, none) == 1 }
}

/// Removes the variables that choose files and directories: TMPDIR, XDG_… and TARDY_…. XDG_RUNTIME_DIR becomes the
/// directory that systemd gives to the calling user.
///
/// # Errors
/// If this process has more than one thread, or /proc is not mounted.
pub fn distrust_environment() -> io::Result<()> {
    if processes::threads_of(std::process::id()).len() != 1 {
        return Err(io::Error::other("the environment can be changed by a process with one thread only"));
    }
    let names: Vec<OsString> = std::env::vars_os().map(|(name, _)| name).collect();
    let is_untrusted =
        |name: &OsString| UNTRUSTED.iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes()));
    for name in names.into_iter().filter(is_untrusted) {
        // SAFETY: no other thread exists.
        unsafe { std::env::remove_var(name) };
    }
    // SAFETY: getuid takes nothing, and no other thread exists.
    unsafe { std::env::set_var(RUNTIME_VARIABLE, format!("{RUNTIME}/{}", libc::getuid())) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_program_gains_nothing() {
        assert!(!were_gained());
        assert_eq!(are_high(), is_root());
    }

    #[test]
    fn an_environment_that_other_threads_may_read_is_not_changed() {
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        assert!(distrust_environment().is_err());
        drop(end);
        let _ = other.join();
    }
}
