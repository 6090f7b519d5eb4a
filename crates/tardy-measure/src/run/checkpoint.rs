//! The run file while the run goes on: at any moment the disk holds a complete, valid run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tardy_record::{Run, file};
use thiserror::Error;

const FIRST_INTERVAL_NS: u64 = 5_000_000_000;
const LONGEST_INTERVAL_NS: u64 = 60_000_000_000;

/// Why a run file cannot be written.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// There is something of that name already.
    #[error(
        "{0} exists already, and a run file is never overwritten unasked; choose another -o, or say --force"
    )]
    Exists(PathBuf),
    /// The disk or its rights.
    #[error("{path} cannot be written: {source}; choose another place with -o")]
    Io {
        /// The run file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Writes a run file again and again, each time whole: temporary file, fsync, rename, fsync of the directory.
#[derive(Debug)]
pub(super) struct RunFile {
    path: PathBuf,
    temporary: PathBuf,
    interval_ns: u64,
    due_ns: u64,
}

impl RunFile {
    /// Makes sure that `path` can be written before anything is measured, without touching what is there.
    pub(super) fn prepare(path: &Path, force: bool) -> Result<Self, CheckpointError> {
        if !force && path.symlink_metadata().is_ok() {
            return Err(CheckpointError::Exists(path.to_owned()));
        }
        let name = path.file_name().ok_or_else(|| CheckpointError::Io {
            path: path.to_owned(),
            source: io::Error::new(io::ErrorKind::InvalidInput, "it names no file"),
        })?;
        let temporary =
            path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
        let fail = |source| CheckpointError::Io { path: path.to_owned(), source };
        OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(fail)?;
        let file = Self {
            path: path.to_owned(),
            temporary,
            interval_ns: FIRST_INTERVAL_NS,
            due_ns: FIRST_INTERVAL_NS,
        };
        Ok(file)
    }

    /// The run file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the next checkpoint is due, `now_ns` after the start of the run. They back off from every 5 s to once
    /// a minute, since writing is load too.
    pub(super) fn is_due(&mut self, now_ns: u64) -> bool {
        if now_ns < self.due_ns {
            return false;
        }
        self.interval_ns = (self.interval_ns * 2).min(LONGEST_INTERVAL_NS);
        self.due_ns = now_ns + self.interval_ns;
        true
    }

    /// Replaces the run file by `run`. What was there stays if this fails.
    pub(super) fn write(&self, run: &Run) -> Result<(), CheckpointError> {
        write_whole(&self.path, &self.temporary, file::to_text(run).as_bytes())
            .map_err(|source| CheckpointError::Io { path: self.path.clone(), source })
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        // It is there only if the last write failed, or none was tried.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn write_whole(path: &Path, temporary: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = File::create(temporary)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(temporary, path)?;
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_overwritten_unasked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.run.json");
        fs::write(&path, "precious").unwrap();
        assert!(matches!(RunFile::prepare(&path, false), Err(CheckpointError::Exists(_))));
        drop(RunFile::prepare(&path, true).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn an_unwritable_place_is_known_beforehand() {
        let error = RunFile::prepare(Path::new("/proc/nowhere/a.run.json"), false).unwrap_err();
        assert!(error.to_string().contains("/proc/nowhere/a.run.json cannot be written"), "{error}");
    }

    #[test]
    fn checkpoints_back_off_to_once_a_minute() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = RunFile::prepare(&directory.path().join("a"), false).unwrap();
        let due: Vec<u64> = (0..300).filter(|second| file.is_due(second * 1_000_000_000)).collect();
        assert_eq!(due, [5, 15, 35, 75, 135, 195, 255]);
    }
}
