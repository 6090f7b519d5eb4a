//! The kernel's message log (syslog(2), as shown by `dmesg`), as a whole or record by record.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use crate::kernel_files::{KernelFileError, KernelFiles};

/// The size of a buffer that holds the longest record, in bytes (CONSOLE_EXT_LOG_MAX in kernel/printk).
const RECORD_BYTES: usize = 8192;

/// Reads all messages in the log without removing them.
///
/// Needs CAP_SYSLOG if kernel.dmesg_restrict is 1.
pub fn read_all() -> io::Result<String> {
    const READ_ALL: libc::c_int = 3;
    const SIZE: libc::c_int = 10;
    // SAFETY: asking for the size takes no pointer.
    let size = unsafe { libc::klogctl(SIZE, std::ptr::null_mut(), 0) };
    // If the size is not available, the largest common ring (CONFIG_LOG_BUF_SHIFT=20) is assumed.
    let size = if size > 0 { size } else { 1 << 20 };
    let mut buffer = vec![0u8; size as usize];
    // SAFETY: the pointer is to `size` writable bytes.
    let length = unsafe { libc::klogctl(READ_ALL, buffer.as_mut_ptr().cast(), size) };
    if length < 0 {
        return Err(io::Error::last_os_error());
    }
    buffer.truncate(length as usize);
    Ok(String::from_utf8_lossy(&buffer).into_owned())
}

/// Reads /dev/kmsg record by record without waiting (Documentation/ABI/testing/dev-kmsg, Linux 3.5 and later).
///
/// A record is `priority,sequence,time,flags;message`, where lines that begin with a space add details. The priority is 8 times
/// the facility, which is 0 for the kernel's own messages, plus the level.
#[derive(Debug)]
pub struct KernelLog {
    file: File,
    buffer: Vec<u8>,
}

/// The result of one read of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogRead<'a> {
    /// The next record; where a regular file replaces the log, all complete or incomplete lines up to 8 KiB.
    Lines(&'a [u8]),
    /// Records were overwritten before they were read. The next read returns the oldest that is left.
    Overwritten,
    /// There is no further record at present.
    UpToDate,
}

impl KernelLog {
    /// Opens the log at its oldest record.
    ///
    /// # Errors
    /// If there is no /dev/kmsg, as in some containers, or if this user may not read it (kernel.dmesg_restrict).
    pub fn open(files: &KernelFiles, path: &str) -> Result<Self, KernelFileError> {
        let full = files.resolve(path);
        match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&full) {
            Ok(file) => Ok(Self { file, buffer: vec![0; RECORD_BYTES] }),
            Err(source) => Err(KernelFileError { action: "open", path: full, source }),
        }
    }

    /// Reads the next record by one system call.
    ///
    /// # Errors
    /// If the kernel refuses to read.
    pub fn read(&mut self) -> io::Result<LogRead<'_>> {
        match self.file.read(&mut self.buffer) {
            Ok(0) => Ok(LogRead::UpToDate),
            Ok(length) => Ok(LogRead::Lines(&self.buffer[..length])),
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN) => Ok(LogRead::UpToDate),
                Some(libc::EPIPE) => Ok(LogRead::Overwritten),
                _ => Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_text_or_refused() {
        match read_all() {
            Ok(log) => assert!(log.lines().count() < 10_000_000),
            Err(error) => assert!(error.raw_os_error().is_some()),
        }
    }

    #[test]
    fn the_log_is_read_to_its_end_without_waiting_or_refused() {
        let Ok(mut log) = KernelLog::open(&KernelFiles::real(), "/dev/kmsg") else { return };
        for _ in 0..1_000_000 {
            match log.read() {
                Ok(LogRead::Lines(record)) => assert!(record.contains(&b';')),
                Ok(LogRead::Overwritten) => {}
                Ok(LogRead::UpToDate) | Err(_) => return,
            }
        }
        panic!("the log does not end");
    }
}
