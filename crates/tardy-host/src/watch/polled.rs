//! A kernel file and its buffer, read once per round.

use tardy_sys::kernel_files::{KernelFileError, KernelFiles, PolledFile};

/// A file that stays open, with its read buffer.
pub(super) struct Polled {
    file: PolledFile,
    buffer: Vec<u8>,
}

impl Polled {
    /// Opens a file; the error is a short reason with the path.
    pub(super) fn open(files: &KernelFiles, path: &str) -> Result<Self, String> {
        let error = |error: KernelFileError| format!("{path}: {}", error.reason());
        Ok(Self { file: files.open(path).map_err(error)?, buffer: Vec::new() })
    }

    /// Its current content; `None` if it cannot be read this time.
    pub(super) fn read(&mut self) -> Option<&[u8]> {
        self.file.read(&mut self.buffer).ok()
    }
}
