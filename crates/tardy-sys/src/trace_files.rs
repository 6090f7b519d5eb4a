//! Kernel files that are written, and tracefs's pipes of raw pages.
//!
//! Who writes a kernel setting puts it back: these functions only do what they are told. tracefs takes one command in
//! one write(2), so nothing here writes in pieces.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::kernel_files::{KernelFileError, KernelFiles};

impl KernelFiles {
    /// Writes `text` into the file at `path`, in place of what is there, in one write.
    ///
    /// # Errors
    /// If there is no such file, it may not be written, or the kernel does not take the text.
    pub fn write(&self, path: &str, text: &str) -> Result<(), KernelFileError> {
        self.write_with(path, text, OpenOptions::new().write(true).truncate(true))
    }

    /// Asks whether the file at `path` may be written, without writing: kernel files are asked for their rights when they
    /// are opened, and nothing happens to them.
    ///
    /// # Errors
    /// If there is no such file, or it may not be written.
    pub fn check_writable(&self, path: &str) -> Result<(), KernelFileError> {
        let full = self.resolve(path);
        let opened = OpenOptions::new().write(true).open(&full);
        opened.map(drop).map_err(|source| failed("write", &full, source))
    }

    /// Adds `text` to what the file at `path` holds, such as one word to a list of options.
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
            if whole { Ok(()) } else { Err(io::Error::other("the kernel took only a part of it")) }
        };
        write().map_err(|source| failed("write", &full, source))
    }

    /// Makes a directory, which in tracefs makes a trace instance.
    ///
    /// # Errors
    /// If it is there already, or may not be made.
    pub fn make_directory(&self, path: &str) -> Result<(), KernelFileError> {
        let full = self.resolve(path);
        fs::create_dir(&full).map_err(|source| failed("make", &full, source))
    }

    /// Removes a directory, which in tracefs removes a trace instance and all that was set in it.
    ///
    /// # Errors
    /// If it is not there, is in use, or may not be removed.
    pub fn remove_directory(&self, path: &str) -> Result<(), KernelFileError> {
        let full = self.resolve(path);
        fs::remove_dir(&full).map_err(|source| failed("remove", &full, source))
    }

    /// Opens a pipe of the kernel's whose reader does not wait for what is not there yet.
    ///
    /// # Errors
    /// If there is no such file, or it may not be opened.
    pub fn open_pipe(&self, path: &str) -> Result<KernelPipe, KernelFileError> {
        let full = self.resolve(path);
        match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&full) {
            Ok(file) => Ok(KernelPipe { file, path: full }),
            Err(source) => Err(failed("open", &full, source)),
        }
    }
}

/// A pipe of the kernel's, such as `trace_pipe_raw`.
#[derive(Debug)]
pub struct KernelPipe {
    file: File,
    path: PathBuf,
}

impl KernelPipe {
    /// Reads what is there into `buffer` and says how many bytes that was; 0 if there is nothing now.
    ///
    /// # Errors
    /// If the kernel refuses for any other reason than that there is nothing.
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
    fn what_is_written_replaces_and_what_is_appended_adds() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(root.path());
        assert!(
            files.write("/clock", "mono").unwrap_err().is_absent(),
            "no file is made that the kernel did not make"
        );
        fs::write(root.path().join("clock"), "local global").unwrap();
        files.write("/clock", "mono").unwrap();
        files.append("/clock", " 1").unwrap();
        assert_eq!(files.text("/clock").unwrap(), "mono 1");
    }

    #[test]
    fn an_instance_is_made_once_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(root.path());
        files.make_directory("/one").unwrap();
        assert!(files.make_directory("/one").is_err());
        files.remove_directory("/one").unwrap();
        assert!(files.remove_directory("/one").unwrap_err().is_absent());
    }
}
