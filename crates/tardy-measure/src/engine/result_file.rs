//! A file that is written whole or not at all, at a place that was claimed beforehand.
//!
//! What is there already is never replaced unasked; a device, a pipe or a directory never at all; and a symbolic link is
//! followed, so that the file behind it is replaced and not the link.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

/// Why a result cannot be written to a place.
#[derive(Debug, Error)]
pub enum ResultFileError {
    /// There is something of that name already.
    #[error("{0} exists already, and nothing is overwritten unasked; choose another name, or say --force")]
    Exists(PathBuf),
    /// There is something there that is no file.
    #[error("{0} is not a regular file, and cannot be replaced by one; choose another name")]
    NotAFile(PathBuf),
    /// The disk or its rights.
    #[error("{path} cannot be written: {source}; choose another place")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A claimed place.
#[derive(Debug)]
pub struct ResultFile {
    path: PathBuf,
    target: PathBuf,
    temporary: PathBuf,
    /// Whether what is at the target may be replaced: unasked only once it is ours.
    may_replace: AtomicBool,
}

impl ResultFile {
    /// Makes sure that `path` can be written, without touching what is there.
    pub fn claim(path: &Path, force: bool) -> Result<Self, ResultFileError> {
        let fail = |source| ResultFileError::Io { path: path.to_owned(), source };
        let target = match path.symlink_metadata() {
            Ok(_) => path.canonicalize().map_err(fail)?,
            Err(_) => path.to_owned(),
        };
        if let Ok(metadata) = target.metadata() {
            if !metadata.is_file() {
                return Err(ResultFileError::NotAFile(path.to_owned()));
            }
            if !force {
                return Err(ResultFileError::Exists(path.to_owned()));
            }
        }
        let nameless = || fail(io::Error::new(io::ErrorKind::InvalidInput, "it names no file"));
        let name = target.file_name().ok_or_else(nameless)?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.tmp", std::process::id()));
        let temporary = target.with_file_name(hidden);
        // What a dead process of the same id left there may be another name of its result.
        let _ = fs::remove_file(&temporary);
        OpenOptions::new().write(true).create(true).truncate(true).open(&temporary).map_err(fail)?;
        Ok(Self { path: path.to_owned(), target, temporary, may_replace: AtomicBool::new(force) })
    }

    /// The place, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file by `text`. What was there stays if this fails.
    pub fn write(&self, text: &[u8]) -> Result<(), ResultFileError> {
        self.write_whole(text).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => ResultFileError::Exists(self.path.clone()),
            _ => ResultFileError::Io { path: self.path.clone(), source },
        })
    }

    fn write_whole(&self, text: &[u8]) -> io::Result<()> {
        let mut file = File::create(&self.temporary)?;
        file.write_all(text)?;
        file.sync_all()?;
        self.put_in_place()?;
        let directory = self.target.parent().filter(|directory| !directory.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }

    /// The first time, another run may have written a file of this name since the place was claimed: a link does not
    /// replace it, where the file system has links.
    fn put_in_place(&self) -> io::Result<()> {
        if !self.may_replace.load(Ordering::Relaxed) {
            match fs::hard_link(&self.temporary, &self.target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                _ => self.may_replace.store(true, Ordering::Relaxed),
            }
        }
        fs::rename(&self.temporary, &self.target)?;
        // Of two names of one file rename(2) leaves both.
        match fs::remove_file(&self.temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes back what was written.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.target);
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        // It is there only if the last write failed, or none was tried.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Whether two names mean the same file, whether or not it is there yet.
pub fn is_same_place(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new(".")).canonicalize().ok()?;
        let place = directory.join(path.file_name()?);
        Some(place.canonicalize().unwrap_or(place))
    };
    one == other || place(one).is_some_and(|one| place(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_that_claim_a_place_the_second_to_write_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.run.json");
        let (one, other) =
            (ResultFile::claim(&path, false).unwrap(), ResultFile::claim(&path, false).unwrap());
        one.write(b"first").unwrap();
        one.write(b"first, once more").unwrap();
        assert!(matches!(other.write(b"second"), Err(ResultFileError::Exists(_))));
        drop((one, other));
        assert_eq!(fs::read_to_string(&path).unwrap(), "first, once more");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn what_is_there_is_not_overwritten_unasked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.run.json");
        fs::write(&path, "precious").unwrap();
        assert!(matches!(ResultFile::claim(&path, false), Err(ResultFileError::Exists(_))));
        drop(ResultFile::claim(&path, true).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn only_regular_files_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        for place in [directory.path(), Path::new("/dev/null")] {
            assert!(matches!(ResultFile::claim(place, true), Err(ResultFileError::NotAFile(_))), "{place:?}");
        }
    }

    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        ResultFile::claim(&link, true).unwrap().write(b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn an_unwritable_place_is_known_beforehand() {
        let error = ResultFile::claim(Path::new("/proc/nowhere/a.run.json"), false).unwrap_err();
        assert!(error.to_string().contains("/proc/nowhere/a.run.json cannot be written"), "{error}");
    }
}
