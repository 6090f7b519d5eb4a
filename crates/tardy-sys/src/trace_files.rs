//! Kernel files that are written, and tracefs's pipes of raw pages.
//!
//! The caller restores kernel settings that it changes. tracefs accepts one command per write(2), so each text is
//! written with one call.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::file_cache;
use crate::kernel_files::{KernelFileError, KernelFiles};

/// Opens a file of tracefs to write into it repeatedly.
///
/// # Errors
/// open(2)'s.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

impl KernelFiles {
    /// Replaces the content of the file at `path` with `text`, in one write.
    ///
    /// # Errors
    /// If there is no such file, it is not writable, or the kernel refuses the text.
    pub fn write(&self, path: &str, text: &str) -> Result<(), KernelFileError> {
        self.write_with(path, text, OpenOptions::new().write(true).truncate(true))
    }

    /// Checks whether the file at `path` is writable, without writing: the kernel checks permissions when a file is
    /// opened, which has no side effects.
    ///
    /// # Errors
    /// If there is no such file, or it is not writable.
    pub fn check_writable(&self, path: &str) -> Result<(), KernelFileError> {
        let full = self.resolve(path);
        let opened = OpenOptions::new().write(true).open(&full);
        opened.map(drop).map_err(|source| failed("write", &full, source))
    }

    /// Appends `text` to the file at `path`, such as one word to a list of options.
    ///
    /// # Errors
    /// As for [`Self::write`].
    pub fn append(&self, path: &str, text: &str) -> Result<(), KernelFileError> {
        self.write_with(path, text, OpenOptions::new().append(true))
    }

    fn write_with(&self, path: &str, text: &str, how: &OpenOptions) -> Result<(), KernelFileError> {
        let full = self.resolve(path);
        let write = || {
            let written = how.open(&full)?.write(text.as_bytes())?;
            let whole = written == text.len();
            if whole { Ok(()) } else { Err(io::Error::other("the kernel accepted only part of it")) }
        };
        write().map_err(|source| failed("write", &full, source))
    }

    /// Creates a directory; in tracefs this creates a trace instance.
    ///
    /// # Errors
    /// If it already exists, or cannot be created.
    pub fn make_directory(&self, path: &str) -> Result<(), KernelFileError> {
        let full = self.resolve(path);
        fs::create_dir(&full).map_err(|source| failed("create", &full, source))
    }

    /// Removes a directory; in tracefs this removes a trace instance with all its settings.
    ///
    /// # Errors
    /// If it does not exist, is in use, or cannot be removed.
    pub fn remove_directory(&self, path: &str) -> Result<(), KernelFileError> {
        let full = self.resolve(path);
        fs::remove_dir(&full).map_err(|source| failed("remove", &full, source))
    }

    /// Opens a pipe of the kernel for non-blocking reads.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be opened.
    pub fn open_pipe(&self, path: &str) -> Result<KernelPipe, KernelFileError> {
        let full = self.resolve(path);
        match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&full) {
            Ok(file) => Ok(KernelPipe { file, path: full }),
            Err(source) => Err(failed("open", &full, source)),
        }
    }
}

/// `TRACEFS_MAGIC` (include/uapi/linux/magic.h).
const TRACEFS: u32 = 0x7472_6163;

/// The file of timerlat's user thread, in the directory of each CPU.
const TIMERLAT_FILE: &str = "timerlat_fd";

/// Whether the open file is `timerlat_fd` on tracefs, whose read(2) waits for the next period and returns 0
/// (`timerlat_fd_read` in kernel/trace/trace_osnoise.c). Reads of other files return at once.
///
/// # Errors
/// fstatfs(2)'s, or that /proc is not mounted.
pub fn is_timerlat_file(file: &File) -> io::Result<bool> {
    if file_cache::file_system_of(file)? != TRACEFS {
        return Ok(false);
    }
    // The name by which it was opened may be that of a link.
    let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    Ok(path.ends_with(TIMERLAT_FILE))
}

/// A pipe of the kernel, such as `trace_pipe_raw`.
#[derive(Debug)]
pub struct KernelPipe {
    file: File,
    path: PathBuf,
}

impl KernelPipe {
    /// Reads available data into `buffer` and returns its length; 0 if there is none.
    ///
    /// # Errors
    /// The kernel's, except that there is no data.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, KernelFileError> {
        loop {
            match self.file.read(buffer) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                Err(source) => return Err(failed("read", &self.path, source)),
            }
        }
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> KernelFileError {
    KernelFileError { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_replaces_and_append_adds() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(root.path());
        assert!(files.write("/clock", "mono").unwrap_err().is_absent(), "write does not create a file");
        fs::write(root.path().join("clock"), "local global").unwrap();
        files.write("/clock", "mono").unwrap();
        files.append("/clock", " 1").unwrap();
        assert_eq!(files.text("/clock").unwrap(), "mono 1");
    }

    #[test]
    fn a_file_elsewhere_is_not_timerlats() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(TIMERLAT_FILE);
        fs::write(&path, "").unwrap();
        assert!(!is_timerlat_file(&File::open(&path).unwrap()).unwrap());
        assert!(!is_timerlat_file(&File::open("/dev/zero").unwrap()).unwrap());
    }

    #[test]
    fn an_instance_is_created_once_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(root.path());
        files.make_directory("/one").unwrap();
        assert!(files.make_directory("/one").is_err());
        files.remove_directory("/one").unwrap();
        assert!(files.remove_directory("/one").unwrap_err().is_absent());
    }
}
