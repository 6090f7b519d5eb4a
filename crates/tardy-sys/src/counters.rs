//! Counters that load processes increment and the supervisor reads, in memory that both map.
//!
//! The memory is a memfd: it has no name that could be left behind, and an executed load inherits it as a descriptor.
//! Each counter has its own cache line, because forty tasks on all CPUs increment theirs a million times per second,
//! and counting in a shared line would itself be a load.
//!
//! Alternatives not taken: the probe's map (`shared_map.rs`), whose blocks survive all processes, which the counts of a
//! killed load need not; and a pipe of counts, which would wake the reader.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::path::Path;
use std::ptr::NonNull;

#[cfg(target_has_atomic = "64")]
use crate::cell64::Cell64 as Number;
use crate::files::Directory;
#[cfg(not(target_has_atomic = "64"))]
use latch::Latch as Number;

/// The most counters of a map: far more than any set of loads needs, and small enough to map anywhere.
const COUNT_MAX: usize = 65_536;

/// A number that one process increments and others read. The all-zero bit pattern is a valid counter that holds 0.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Counter {
    number: Number,
}

impl Counter {
    /// The number. Never torn, on any target, even if its writer was killed in the middle of a write.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.number.get()
    }

    /// Adds to the number. Only the counter's one writer may call it: it is a load and a store, not one operation.
    #[inline(always)]
    pub fn add(&self, amount: u64) {
        self.number.set(self.number.get().wrapping_add(amount));
    }
}

/// A mapping of counters that child processes can share.
#[derive(Debug)]
pub struct Counters {
    start: NonNull<Counter>,
    count: usize,
    file: File,
}

// SAFETY: the mapping lives as long as the value, and everything in it is reached through atomics.
unsafe impl Send for Counters {}
// SAFETY: as above.
unsafe impl Sync for Counters {}

impl Counters {
    /// Creates `count` counters, all zero.
    pub fn create(count: usize) -> io::Result<Self> {
        let bytes = bytes_of(count)?;
        let file = anonymous_file()?;
        file.set_len(bytes as u64)?;
        // The seals prevent other processes from shortening the file, which would raise SIGBUS in readers; kernels
        // before 3.17 have none.
        // SAFETY: fcntl with F_ADD_SEALS takes integers only.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) };
        Self::map(file, count)
    }

    /// Maps the counters that the parent passed as descriptor `fd` (see [`crate::child::prepare`]), and marks the
    /// descriptor close-on-exec.
    ///
    /// # Errors
    /// If `fd` is not open, or too small for `count` counters.
    pub fn inherited(fd: RawFd, count: usize) -> io::Result<Self> {
        // SAFETY: fcntl with F_SETFD and F_DUPFD_CLOEXEC takes integers only; a closed descriptor is an error.
        let copy = unsafe {
            if libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3)
        };
        if copy < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor.
        let file = unsafe { File::from_raw_fd(copy) };
        if file.metadata()?.len() < bytes_of(count)? as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the descriptor holds too few counters"));
        }
        Self::map(file, count)
    }

    fn map(file: File, count: usize) -> io::Result<Self> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice, of a file that is as long as the mapping.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes_of(count)?, protection, flags, file.as_raw_fd(), 0)
        };
        match NonNull::new(start.cast::<Counter>()) {
            Some(start_of_map) if start != libc::MAP_FAILED => Ok(Self { start: start_of_map, count, file }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The counters.
    pub fn all(&self) -> &[Counter] {
        // SAFETY: the mapping holds `count` counters, is aligned to a page, and lives as long as `self`; every bit
        // pattern is a valid counter, and counters are atomics, so that other processes may write at the same time.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl AsRawFd for Counters {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this size, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.count.max(1) * size_of::<Counter>()) };
    }
}

fn bytes_of(count: usize) -> io::Result<usize> {
    if count > COUNT_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("more than {COUNT_MAX} counters")));
    }
    Ok(count.max(1) * size_of::<Counter>())
}

/// A memfd, or on kernels before 3.17 a file in /dev/shm that is unlinked at once.
fn anonymous_file() -> io::Result<File> {
    // SAFETY: the name is a C string; the flags are an integer.
    let fd = unsafe {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        libc::syscall(libc::SYS_memfd_create, c"tardy-load-counters".as_ptr(), flags)
    };
    if fd >= 0 {
        // SAFETY: the kernel just gave us this descriptor.
        return Ok(unsafe { File::from_raw_fd(fd as RawFd) });
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::ENOSYS) {
        return Err(error);
    }
    Directory::named(Path::new("/dev/shm"))?.unnamed_file()
}

/// A 64-bit number out of 32-bit atomics, for ARMv5.
///
/// Two halves alone cannot be read as a whole (between the two stores of a carry every combination is wrong), and a
/// sequence lock whose writer is killed inside blocks its readers for ever. So there are two copies, and a sequence
/// number selects the one that is not being written (the kernel's `seqcount_latch_t`).
#[cfg(any(test, not(target_has_atomic = "64")))]
mod latch {
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
    use std::sync::atomic::{AtomicU32, fence};

    #[derive(Debug, Default)]
    pub(super) struct Latch {
        sequence: AtomicU32,
        copies: [[AtomicU32; 2]; 2],
    }

    impl Latch {
        pub(super) fn get(&self) -> u64 {
            loop {
                let sequence = self.sequence.load(Acquire);
                let [low, high] = &self.copies[(sequence & 1) as usize];
                let value = u64::from(high.load(Relaxed)) << 32 | u64::from(low.load(Relaxed));
                fence(Acquire);
                if self.sequence.load(Relaxed) == sequence {
                    return value;
                }
            }
        }

        pub(super) fn set(&self, value: u64) {
            let next = self.sequence.load(Relaxed).wrapping_add(1);
            // The last store directed readers away from this copy, which may be written only after that store.
            fence(Release);
            let [low, high] = &self.copies[(next & 1) as usize];
            low.store(value as u32, Relaxed);
            high.store((value >> 32) as u32, Relaxed);
            self.sequence.store(next, Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn another_mapping_of_the_descriptor_sees_the_same_counters() {
        let counters = Counters::create(3).unwrap();
        counters.all()[2].add(5);
        let same = Counters::inherited(counters.as_raw_fd(), 3).unwrap();
        same.all()[2].add(u64::from(u32::MAX));
        assert_eq!(
            counters.all().iter().map(Counter::get).collect::<Vec<_>>(),
            [0, 0, u64::from(u32::MAX) + 5]
        );
    }

    #[test]
    fn counters_do_not_share_cache_lines() {
        assert_eq!(size_of::<Counter>(), 64);
    }

    #[test]
    fn an_unsuitable_descriptor_is_refused() {
        let counters = Counters::create(1).unwrap();
        assert!(Counters::inherited(counters.as_raw_fd(), 2).is_err(), "too few");
        assert!(Counters::inherited(9999, 1).is_err(), "not open");
        assert!(Counters::create(usize::MAX).is_err(), "too many");
    }

    #[test]
    fn a_latch_is_never_read_torn() {
        const LAST: u64 = if cfg!(miri) { 300 } else { 2_000_000 };
        let latch = latch::Latch::default();
        let done = AtomicBool::new(false);
        let torn = |value: u64| value >> 32 != value & 0xffff_ffff;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for half in 1..=LAST {
                    latch.set(half << 32 | half);
                }
                done.store(true, Ordering::Relaxed);
            });
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let value = latch.get();
                assert!(!torn(value) && value >= last, "{value:x} after {last:x}");
                last = value;
            }
        });
        assert_eq!(latch.get(), LAST << 32 | LAST);
    }
}
