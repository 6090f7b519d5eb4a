//! A file that is written completely or not at all, at a path that was claimed beforehand.
//!
//! An existing file is replaced only on request; a device, a pipe or a directory is never replaced. A symbolic link is
//! followed: its target is replaced, not the link.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

/// Why a result cannot be written to a path.
#[derive(Debug, Error)]
pub enum ResultFileError {
    /// A file of that name exists.
    #[error("{0} exists; use --force to overwrite it, or choose another name")]
    Exists(PathBuf),
    /// The path exists, and is not a regular file.
    #[error("{0} is not a regular file and cannot be replaced; choose another name")]
    NotAFile(PathBuf),
    /// The file system does not permit it or failed.
    #[error("{path} cannot be written: {source}; choose another path")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// A claimed path.
#[derive(Debug)]
pub struct ResultFile {
    path: PathBuf,
    target: PathBuf,
    temporary: PathBuf,
    /// Whether the target may be replaced: by force, or because this run has written it.
    may_replace: AtomicBool,
}

impl ResultFile {
    /// Checks that `path` can be written. An existing file stays unchanged.
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
        // A killed process of the same pid may have left the temporary file, as a hard link to its result.
        let _ = fs::remove_file(&temporary);
        OpenOptions::new().write(true).create(true).truncate(true).open(&temporary).map_err(fail)?;
        Ok(Self { path: path.to_owned(), target, temporary, may_replace: AtomicBool::new(force) })
    }

    /// The path that was passed to [`Self::claim`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file by `text`. The previous content stays if this fails.
    pub fn write(&self, text: &[u8]) -> Result<(), ResultFileError> {
        self.write_by(|file| file.write_all(text))
    }

    /// Replaces the file's content by the output of `write`. The previous content stays if this fails.
    pub fn write_by(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ResultFileError> {
        self.write_whole(write).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => ResultFileError::Exists(self.path.clone()),
            _ => ResultFileError::Io { path: self.path.clone(), source },
        })
    }

    fn write_whole(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut file = File::create(&self.temporary)?;
        write(&mut file)?;
        file.sync_all()?;
        self.put_in_place()?;
        let directory = self.target.parent().filter(|directory| !directory.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }

    /// Moves the temporary file to the target. Another run may have created the target since the path was claimed, so
    /// the first write creates a hard link, which does not replace a file, if the file system supports links.
    fn put_in_place(&self) -> io::Result<()> {
        if !self.may_replace.load(Ordering::Relaxed) {
            match fs::hard_link(&self.temporary, &self.target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                _ => self.may_replace.store(true, Ordering::Relaxed),
            }
        }
        fs::rename(&self.temporary, &self.target)?;
        // rename(2) does nothing if both names refer to the same file.
        match fs::remove_file(&self.temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes the target.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.target);
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        // The temporary file exists only if the last write failed, or nothing was written.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Whether two paths name the same file, which need not exist yet.
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
    fn the_second_of_two_claims_cannot_overwrite_the_first() {
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
    fn an_existing_file_is_overwritten_only_by_force() {
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
    fn the_target_of_a_link_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        ResultFile::claim(&link, true).unwrap().write(b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn an_unwritable_path_is_noticed_when_claimed() {
        let error = ResultFile::claim(Path::new("/proc/nowhere/a.run.json"), false).unwrap_err();
        assert!(error.to_string().contains("/proc/nowhere/a.run.json cannot be written"), "{error}");
    }
}
