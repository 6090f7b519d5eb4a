//! `-F`: a named pipe from which another process reads the current lines of the threads.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use tardy_sys::files::{self, Directory};

/// The pipe, removed on drop.
#[derive(Debug)]
pub struct StatsPipe {
    directory: Directory,
    name: OsString,
}

impl StatsPipe {
    /// Creates the pipe. It replaces a named pipe, but no other file.
    ///
    /// # Errors
    /// If there is another file, or the file system does not permit it.
    pub fn create(path: &Path) -> io::Result<Self> {
        let (directory, name) = files::split(path)?;
        let directory = Directory::named(&directory)?;
        if path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
            directory.remove(name)?;
        }
        directory.create_pipe(name, 0o666)?;
        Ok(Self { directory, name: name.to_owned() })
    }

    /// Writes `text` if a process waits to read. What a full pipe does not take is lost.
    pub fn offer(&self, text: impl FnOnce() -> String) {
        if let Ok(Some(mut pipe)) = self.directory.open_pipe_with_reader(&self.name) {
            let _ = pipe.write_all(text().as_bytes());
        }
    }
}

impl Drop for StatsPipe {
    fn drop(&mut self) {
        let _ = self.directory.remove(&self.name);
    }
}
