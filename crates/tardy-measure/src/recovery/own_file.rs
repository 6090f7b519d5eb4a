//! A run file of the caller, to be replaced.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tardy_sys::files::{self, Directory, Existing};

use super::OpenError;

/// A run file that belongs to the caller, in a directory that belongs to the caller.
#[derive(Debug)]
pub(super) struct OwnFile {
    path: PathBuf,
    directory: Directory,
    name: OsString,
    file: File,
}

/// Why a run file cannot be opened to be replaced, or cannot be replaced.
#[derive(Debug)]
pub(super) enum OwnFileError {
    /// It cannot be opened.
    Open(OpenError),
    /// It is a link or a directory.
    NotAFile { path: PathBuf, reason: &'static str },
    /// It or its directory breaks a rule.
    Foreign { path: PathBuf, source: io::Error },
    /// The file system does not permit it.
    Io { path: PathBuf, source: io::Error },
}

impl From<OpenError> for OwnFileError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl OwnFile {
    /// Opens the file, not a link, and checks its owner and that of its directory.
    pub(super) fn open(path: &Path) -> Result<Self, OwnFileError> {
        let foreign = |source| OwnFileError::Foreign { path: path.to_owned(), source };
        let io = |source| OwnFileError::Io { path: path.to_owned(), source };
        if let Some(reason) = not_a_file(path) {
            return Err(OwnFileError::NotAFile { path: path.to_owned(), reason });
        }
        let (directory, name) = files::split(path).map_err(io)?;
        let directory = Directory::named(&directory).map_err(io)?;
        let file = directory.open_own(name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => OpenError::Io { path: path.to_owned(), source: error }.into(),
            _ => foreign(error),
        })?;
        directory.check_own().map_err(foreign)?;
        Ok(Self { path: path.to_owned(), directory, name: name.to_owned(), file })
    }

    /// Its text.
    pub(super) fn read(&mut self) -> Result<Vec<u8>, OpenError> {
        super::read(&self.path, &mut self.file)
    }

    /// Whether a supervisor holds it.
    pub(super) fn is_held(&self) -> bool {
        files::is_held(&self.file).unwrap_or(false)
    }

    /// Replaces it by a file with this text, with the same mode.
    pub(super) fn replace(&self, text: &[u8]) -> Result<(), OwnFileError> {
        let io = |source| OwnFileError::Io { path: self.path.clone(), source };
        let mode = self.file.metadata().map_err(io)?.mode() & 0o666;
        let write = |file: &mut File| file.write_all(text);
        self.directory.replace(&self.name, mode, Existing::Replaced, write).map_err(io).map(drop)
    }
}

/// Why the path names a link or a directory instead of a run file, and what to name. `None` for others, which the opening checks.
fn not_a_file(path: &Path) -> Option<&'static str> {
    let kind = path.symlink_metadata().ok()?.file_type();
    if kind.is_symlink() {
        return Some("it is a symbolic link; name the file to which it points");
    }
    kind.is_dir().then_some("it is a directory; name a run file in it")
}
