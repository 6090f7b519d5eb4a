//! A file that is written completely or not at all, at a path that was claimed beforehand.
//!
//! An existing file is replaced only on request; a link, a device, a pipe or a directory is never replaced.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use tardy_sys::files::{self, Directory, Existing, FileKind, StagedFile};
use thiserror::Error;

/// Mode of a result, which the umask reduces.
const MODE: u32 = 0o666;

/// Why a result cannot be written to a path.
#[derive(Debug, Error)]
pub enum ResultFileError {
    /// A file of that name exists.
    #[error("{0} exists; use --force to overwrite it, or choose another name")]
    Exists(PathBuf),
    /// The path exists, and is not a regular file.
    #[error("{0} is not a regular file and cannot be replaced; choose another name")]
    NotAFile(PathBuf),
    /// The path is a symbolic link.
    #[error("{0} is a symbolic link; name the file to which it points")]
    Link(PathBuf),
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
    directory: Directory,
    name: OsString,
    /// Whether the file may be replaced: by force, or because this run has written it.
    may_replace: AtomicBool,
}

impl ResultFile {
    /// Checks that `path` can be written. An existing file stays unchanged.
    pub fn claim(path: &Path, force: bool) -> Result<Self, ResultFileError> {
        let fail = |source| ResultFileError::Io { path: path.to_owned(), source };
        let (directory, name) = files::split(path).map_err(|source| match path.is_dir() {
            true => ResultFileError::NotAFile(path.to_owned()),
            false => fail(source),
        })?;
        let directory = Directory::named(&directory).map_err(fail)?;
        check_place(&directory, name, path, force)?;
        directory.check_writable(name).map_err(fail)?;
        let name = name.to_owned();
        Ok(Self { path: path.to_owned(), directory, name, may_replace: AtomicBool::new(force) })
    }

    /// The path that was passed to [`Self::claim`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of the file.
    pub(super) fn directory(&self) -> &Directory {
        &self.directory
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
        self.put(|file| write(file)).map(drop)
    }

    /// As [`Self::write_by`]. Returns the file, still open.
    pub(super) fn put(
        &self,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<File, ResultFileError> {
        let existing = match self.may_replace.load(Ordering::Relaxed) {
            true => Existing::Replaced,
            false => Existing::Kept,
        };
        let file = self.directory.replace(&self.name, MODE, existing, write);
        let file = file.map_err(|source| not_put(&self.path, source))?;
        self.may_replace.store(true, Ordering::Relaxed);
        Ok(file)
    }

    /// Removes the file.
    pub fn remove(&self) {
        let _ = self.directory.remove(&self.name);
    }
}

/// The error of a result that could not be put at `path`.
fn not_put(path: &Path, source: io::Error) -> ResultFileError {
    match source.kind() {
        io::ErrorKind::AlreadyExists => ResultFileError::Exists(path.to_owned()),
        _ => ResultFileError::Io { path: path.to_owned(), source },
    }
}

/// Checks that a result may have this name in `directory`. `path` is for messages.
fn check_place(directory: &Directory, name: &OsStr, path: &Path, force: bool) -> Result<(), ResultFileError> {
    let fail = |source| ResultFileError::Io { path: path.to_owned(), source };
    match directory.metadata(name).map_err(fail)? {
        None => Ok(()),
        Some(FileKind::Regular) if force => Ok(()),
        Some(FileKind::Regular) => Err(ResultFileError::Exists(path.to_owned())),
        Some(FileKind::Link) => Err(ResultFileError::Link(path.to_owned())),
        Some(_) => Err(ResultFileError::NotAFile(path.to_owned())),
    }
}

/// Results in one directory that are written one after the other and appear together, after one wait for the disk.
#[derive(Debug)]
pub struct ResultBatch {
    path: PathBuf,
    directory: Directory,
    existing: Existing,
    staged: Vec<StagedFile>,
    paths: Vec<PathBuf>,
}

impl ResultBatch {
    /// An empty batch for the directory `path`.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn of(path: &Path, force: bool) -> Result<Self, ResultFileError> {
        let fail = |source| ResultFileError::Io { path: path.to_owned(), source };
        let directory = Directory::named(path).map_err(fail)?;
        let existing = if force { Existing::Replaced } else { Existing::Kept };
        Ok(Self { path: path.to_owned(), directory, existing, staged: Vec::new(), paths: Vec::new() })
    }

    /// Writes the output of `write` under a temporary name.
    ///
    /// # Errors
    /// If the name is taken, as for [`ResultFile::claim`], or the file cannot be written.
    pub fn add(
        &mut self,
        name: &OsStr,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ResultFileError> {
        let path = self.path.join(name);
        check_place(&self.directory, name, &path, self.existing == Existing::Replaced)?;
        let staged = self.directory.stage(name, MODE, |file| write(file));
        self.staged.push(staged.map_err(|source| ResultFileError::Io { path: path.clone(), source })?);
        self.paths.push(path);
        Ok(())
    }

    /// Puts all files in their places. Returns what became of each, in the order of [`Self::add`].
    pub fn finish(mut self) -> Vec<Result<(), ResultFileError>> {
        let (staged, paths) = (std::mem::take(&mut self.staged), std::mem::take(&mut self.paths));
        if staged.is_empty() {
            return Vec::new();
        }
        match self.directory.put_staged(&staged, self.existing) {
            Ok(outcomes) => {
                let outcomes = outcomes.into_iter().zip(&paths);
                outcomes.map(|(outcome, path)| outcome.map_err(|source| not_put(path, source))).collect()
            }
            Err(error) => {
                let again = || io::Error::new(error.kind(), error.to_string());
                paths.iter().map(|path| Err(not_put(path, again()))).collect()
            }
        }
    }
}

impl Drop for ResultBatch {
    /// Removes the files that were not put in their places.
    fn drop(&mut self) {
        self.staged.iter().for_each(|staged| self.directory.discard(staged));
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
    use std::fs;

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
        for place in [directory.path(), Path::new("/dev/null"), Path::new("/")] {
            assert!(matches!(ResultFile::claim(place, true), Err(ResultFileError::NotAFile(_))), "{place:?}");
        }
    }

    #[test]
    fn files_of_a_batch_appear_at_its_end_and_leave_nothing_without_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let add = |batch: &mut ResultBatch, name: &str| {
            batch.add(OsStr::new(name), |file| file.write_all(name.as_bytes()))
        };
        let mut batch = ResultBatch::of(directory.path(), false).unwrap();
        add(&mut batch, "a").unwrap();
        add(&mut batch, "b").unwrap();
        assert!(!path("a").exists() && !path("b").exists());
        fs::write(path("b"), "precious").unwrap();
        let outcomes = batch.finish();
        assert!(matches!(outcomes[..], [Ok(()), Err(ResultFileError::Exists(_))]), "{outcomes:?}");
        assert_eq!(fs::read_to_string(path("a")).unwrap(), "a");
        assert_eq!(fs::read_to_string(path("b")).unwrap(), "precious");
        let mut dropped = ResultBatch::of(directory.path(), false).unwrap();
        assert!(matches!(add(&mut dropped, "a"), Err(ResultFileError::Exists(_))));
        add(&mut dropped, "c").unwrap();
        drop(dropped);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "no temporary file is left");
    }

    #[test]
    fn a_link_is_neither_followed_nor_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        assert!(matches!(ResultFile::claim(&link, true), Err(ResultFileError::Link(_))));
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    }

    #[test]
    fn an_unwritable_path_is_noticed_when_claimed() {
        let error = ResultFile::claim(Path::new("/proc/nowhere/a.run.json"), false).unwrap_err();
        assert!(error.to_string().contains("/proc/nowhere/a.run.json cannot be written"), "{error}");
    }
}
