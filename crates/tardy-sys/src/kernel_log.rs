//! The kernel's message log (`dmesg`), record by record.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use crate::kernel_files::{KernelFileError, KernelFiles};
use crate::signals::wait_readable;

const PATH: &str = "/dev/kmsg";
/// The size of a buffer that holds the longest record, in bytes (CONSOLE_EXT_LOG_MAX in kernel/printk).
const RECORD_BYTES: usize = 8192;
/// More records than the largest log holds.
const RECORDS_MAX: usize = 1_000_000;

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
    pub fn open(files: &KernelFiles) -> Result<Self, KernelFileError> {
        let full = files.resolve(PATH);
        match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&full) {
            Ok(file) => Ok(Self { file, buffer: vec![0; RECORD_BYTES] }),
            Err(source) => Err(KernelFileError { action: "open", path: full, source }),
        }
    }

    /// Opens the log after its newest record.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_at_end(files: &KernelFiles) -> Result<Self, KernelFileError> {
        let mut log = Self::open(files)?;
        let failed = |source| KernelFileError { action: "seek in", path: files.resolve(PATH), source };
        log.file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(log)
    }

    /// The kernel's own messages in the log, one per line, without those of programs.
    ///
    /// # Errors
    /// As for [`Self::open`], and if the kernel refuses to read.
    pub fn messages(files: &KernelFiles) -> Result<String, KernelFileError> {
        let failed = |source| KernelFileError { action: "read", path: files.resolve(PATH), source };
        Self::open(files)?.rest().map_err(failed)
    }

    /// The kernel's own messages from the next record on, one per line, without those of programs.
    ///
    /// # Errors
    /// If the kernel refuses to read.
    pub fn rest(&mut self) -> io::Result<String> {
        let mut messages = String::new();
        for _ in 0..RECORDS_MAX {
            match self.read()? {
                LogRead::Lines(lines) => {
                    Record::each(lines).filter(Record::is_of_kernel).for_each(|record| {
                        messages.push_str(&String::from_utf8_lossy(record.message));
                        messages.push('\n');
                    })
                }
                LogRead::Overwritten => {}
                LogRead::UpToDate => break,
            }
        }
        Ok(messages)
    }

    /// Waits for a record that was not read yet, at most `timeout_ns`. Returns whether there is one.
    ///
    /// # Errors
    /// If the kernel refuses to wait.
    pub fn wait(&self, timeout_ns: u64) -> io::Result<bool> {
        Ok(wait_readable(&[self.file.as_raw_fd()], timeout_ns)?[0])
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

/// The first line of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    priority: u64,
    /// Its number; 0 is the first since boot.
    pub number: u64,
    /// The message.
    pub message: &'a [u8],
}

impl<'a> Record<'a> {
    /// The records in `lines`, without their details.
    pub fn each(lines: &'a [u8]) -> impl Iterator<Item = Self> {
        lines.split(|byte| *byte == b'\n').filter_map(Self::parse)
    }

    /// Whether the kernel itself wrote the message, and not a program.
    pub fn is_of_kernel(&self) -> bool {
        self.priority < 8
    }

    fn parse(line: &'a [u8]) -> Option<Self> {
        let semicolon = line.iter().position(|byte| *byte == b';')?;
        let mut fields = line[..semicolon].split(|byte| *byte == b',');
        let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
        Some(Self { priority: number()?, number: number()?, message: &line[semicolon + 1..] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_priority_number_and_message() {
        let record = Record { priority: 4, number: 812, message: b"sched: RT throttling activated" };
        assert_eq!(Record::parse(b"4,812,5140900,-,caller=T0;sched: RT throttling activated"), Some(record));
        assert_eq!(Record::parse(b" SUBSYSTEM=net;x"), None);
        assert_eq!(Record::parse(b"4,-1,5;x"), None);
        assert_eq!(Record::parse(b""), None);
    }

    #[test]
    fn messages_are_those_of_the_kernel_and_a_log_opened_at_its_end_has_none() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(root.path());
        assert!(KernelLog::messages(&files).is_err());
        std::fs::create_dir(root.path().join("dev")).unwrap();
        let log = "6,0,0,-;Linux\n SUBSYSTEM=none\n12,1,5,-;from a program\n5,2,9,-;Dynamic Preempt: full\n";
        std::fs::write(root.path().join("dev/kmsg"), log).unwrap();
        assert_eq!(KernelLog::messages(&files).unwrap(), "Linux\nDynamic Preempt: full\n");
        let mut at_end = KernelLog::open_at_end(&files).unwrap();
        assert_eq!(at_end.read().unwrap(), LogRead::UpToDate);
        std::fs::write(root.path().join("dev/kmsg"), format!("{log}4,3,9,-;new\n")).unwrap();
        assert_eq!(at_end.read().unwrap(), LogRead::Lines(b"4,3,9,-;new\n"));
    }

    #[test]
    fn the_log_of_this_machine_is_read_to_its_end_without_waiting_or_refused() {
        match KernelLog::messages(&KernelFiles::real()) {
            Ok(messages) => assert!(messages.lines().count() < RECORDS_MAX),
            Err(error) => assert!(error.source.raw_os_error().is_some()),
        }
    }
}
