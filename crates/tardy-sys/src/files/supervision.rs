//! A lock on a file that shows every user that a process is working on it.
//!
//! It is a write lock of an open file description (fcntl_locking(2), Linux 3.15): only a process that may write the file can
//! hold it, every process that may read the file can query it without taking a lock itself, also one in another PID namespace,
//! and the kernel releases it in whatever way the process ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::checked;

/// Locks `file`, which must be open for writing, until it is closed.
///
/// # Errors
/// If another process holds the lock, or the kernel or the file system has no such locks.
pub fn hold(file: &File) -> io::Result<()> {
    let lock = whole_file(libc::F_WRLCK as libc::c_short);
    // SAFETY: the kernel reads a whole flock.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }).map(drop)
}

/// As [`hold`], after waiting until no other process holds it.
///
/// # Errors
/// If the kernel or the file system has no such locks, or a signal interrupts the wait.
pub fn hold_when_free(file: &File) -> io::Result<()> {
    let lock = whole_file(libc::F_WRLCK as libc::c_short);
    // SAFETY: the kernel reads a whole flock.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const lock) }).map(drop)
}

/// Whether a process holds `file`.
///
/// # Errors
/// If the kernel or the file system has no such locks.
pub fn is_held(file: &File) -> io::Result<bool> {
    // A read lock conflicts with write locks only, so that a reader of the file cannot make it look held.
    let mut lock = whole_file(libc::F_RDLCK as libc::c_short);
    // SAFETY: the kernel reads and writes a whole flock.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) })?;
    Ok(lock.l_type != libc::F_UNLCK as libc::c_short)
}

fn whole_file(kind: libc::c_short) -> libc::flock {
    // SAFETY: a flock consists of integers, for which zero is valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_file_is_recognised_until_it_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        let file = File::create(&path).unwrap();
        let reader = File::open(&path).unwrap();
        assert!(!is_held(&reader).unwrap());
        hold(&file).unwrap();
        assert!(is_held(&reader).unwrap());
        assert!(hold(&reader).is_err(), "a reader cannot hold it");
        drop(file);
        assert!(!is_held(&reader).unwrap());
    }
}
