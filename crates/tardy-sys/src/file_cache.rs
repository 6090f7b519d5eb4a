//! Checks whether a file is on a disk, and drops its pages from the page cache.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `TMPFS_MAGIC` and `RAMFS_MAGIC` (include/uapi/linux/magic.h).
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// Whether the file's file system keeps everything in memory (fstatfs(2)).
///
/// # Errors
/// fstatfs(2)'s.
pub fn is_in_memory(file: &File) -> io::Result<bool> {
    file_system_of(file).map(|magic| IN_MEMORY.contains(&magic))
}

/// The number of the file's type of file system (`f_type` of fstatfs(2)).
#[allow(clippy::unnecessary_cast, reason = "the field is signed on some targets and narrower on others")]
pub(crate) fn file_system_of(file: &File) -> io::Result<u32> {
    // SAFETY: statfs consists of integers, for which zero is valid.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and `found` writable.
    match unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut found) } {
        0 => Ok(found.f_type as u32),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Drops those pages of the file from the page cache that are already written, so that the next read goes to the disk
/// (posix_fadvise(2), POSIX_FADV_DONTNEED).
///
/// # Errors
/// posix_fadvise(2)'s.
pub fn forget(file: &File) -> io::Result<()> {
    // SAFETY: posix_fadvise takes integers only; a length of 0 means to the end.
    match unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_not_on_a_disk_and_proc_is_not_in_memory() {
        let path = format!("/dev/shm/tardy-file-cache-test.{}", std::process::id());
        let file = File::create_new(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(is_in_memory(&file).unwrap());
        forget(&file).unwrap();
        assert!(!is_in_memory(&File::open("/proc/self/stat").unwrap()).unwrap());
    }
}
