//! The time-critical part of the GPIO interface in sysfs (Documentation/ABI/obsolete/sysfs-gpio): the `value` file of
//! a line that is already exported. Nothing here allocates.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The `value` file of an exported line.
#[derive(Debug)]
pub struct ValueFile(File);

impl ValueFile {
    /// Opens the file at `path`, also for writing if `driven`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(path: &Path, driven: bool) -> io::Result<Self> {
        OpenOptions::new().read(true).write(driven).open(path).map(Self)
    }

    /// Sets the line high or low.
    ///
    /// # Errors
    /// The kernel's, for example if the line is an input.
    #[inline(always)]
    pub fn set(&self, high: bool) -> io::Result<()> {
        self.0.write_at(if high { b"1" } else { b"0" }, 0).map(drop)
    }

    /// Whether the line is high. This also acknowledges the last edge: [`Self::wait_for_edge`] returns at the next
    /// one.
    ///
    /// # Errors
    /// The kernel's.
    #[inline(always)]
    pub fn is_high(&self) -> io::Result<bool> {
        let mut value = [0];
        self.0.read_at(&mut value, 0)?;
        Ok(value[0] == b'1')
    }

    /// Waits for an edge of the kind set in the line's `edge` file: `POLLPRI`, with which the kernel reports a change
    /// of an attribute (kernfs_notify()). Several edges since the last wait count as one.
    ///
    /// # Errors
    /// `Interrupted` if a signal arrived; otherwise the kernel's.
    #[inline(always)]
    pub fn wait_for_edge(&self) -> io::Result<()> {
        let mut fd =
            libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLPRI | libc::POLLERR, revents: 0 };
        // SAFETY: one pollfd, which lives as long as the call.
        match unsafe { libc::poll(&raw mut fd, 1, -1) } {
            ..0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_character_at_the_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("value");
        std::fs::write(&path, "0\n").unwrap();
        let value = ValueFile::open(&path, true).unwrap();
        assert!(!value.is_high().unwrap());
        value.set(true).unwrap();
        value.set(true).unwrap();
        assert!(value.is_high().unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n");
        assert!(ValueFile::open(&path, false).unwrap().set(true).is_err(), "it was opened only for reading");
    }
}
