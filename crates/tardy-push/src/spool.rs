//! Runs that wait to be pushed: a directory for each target, with compressed run files named for their content.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tardy_archive::{Address, sha256, write_compressed};
use tardy_record::file::{self, RunFileError};
use tardy_record::run::State;
use tardy_sys::files::{self, Directory, Existing};
use thiserror::Error;

use crate::target::Target;

/// The end of the name of a run that waits.
const SUFFIX: &str = ".run.json.gz";
/// The end of the name of a run that the target refused.
const REFUSED: &str = ".refused";
const LOCK: &str = "lock";
/// Runs may name machines: nobody else reads them.
const MODE: u32 = 0o600;
/// Digits that distinguish the directories of targets.
const DIGITS: usize = 16;

/// Why a run cannot be put into a spool.
#[derive(Debug, Error)]
pub enum SpoolError {
    /// The file system failed.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// It is not a run.
    #[error(transparent)]
    NotARun(#[from] RunFileError),
    /// It is not finished.
    #[error("the run is in progress, or was killed; wait for its end, or seal it with 'tardy recover'")]
    InProgress,
}

/// A run that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spooled {
    /// Its address.
    pub address: Address,
    /// The name of its file in the spool.
    name: OsString,
    since: SystemTime,
}

/// The spool of one target. One process uses it at a time.
#[derive(Debug)]
pub struct Spool {
    directory: Directory,
    _lock: File,
}

impl Spool {
    /// Opens the spool of `target` below the directory `spools`, and makes it if it does not exist. Waits until no other process has it.
    ///
    /// # Errors
    /// If the file system does not permit it.
    pub fn open(spools: &Path, target: &Target) -> Result<Self, SpoolError> {
        let path = spools.join(&sha256(target.to_string().as_bytes())[..DIGITS]);
        let failed = |error| SpoolError::Io(path.clone(), error);
        // Runs may name machines, and the names of spools name servers.
        for private in [spools, &path] {
            files::make_private_directory(private).map_err(failed)?;
        }
        let directory = Directory::named(&path).map_err(failed)?;
        directory.make_private().map_err(failed)?;
        let lock = directory.own_file(LOCK.as_ref(), MODE).map_err(failed)?;
        files::hold_when_free(&lock).map_err(failed)?;
        Ok(Self { directory, _lock: lock })
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Puts a run file with this name and content into the spool. It is on the disk when this returns.
    ///
    /// # Errors
    /// If it is not a finished run, or the file system fails.
    pub fn add(&self, name: &str, content: &[u8]) -> Result<Address, SpoolError> {
        if file::from_text(content)?.progress.state == State::Running {
            return Err(SpoolError::InProgress);
        }
        let address = Address::of(content);
        let stored = format!("{address}{SUFFIX}");
        let written = self
            .directory
            .replace(stored.as_ref(), MODE, Existing::Replaced, |file| write_compressed(content, name, file));
        written.map(drop).map_err(|error| SpoolError::Io(self.path().join(&stored), error))?;
        Ok(address)
    }

    /// The runs that wait, the one that waits longest first.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn waiting(&self) -> Result<Vec<Spooled>, SpoolError> {
        let failed = |error| SpoolError::Io(self.path().to_owned(), error);
        let mut waiting = Vec::new();
        for name in self.directory.names().map_err(failed)? {
            let address = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)?.parse().ok());
            let Some(address) = address else { continue };
            let since = std::fs::symlink_metadata(self.path().join(&name)).and_then(|data| data.modified());
            waiting.push(Spooled { address, name, since: since.map_err(failed)? });
        }
        waiting.sort_by(|one, other| (one.since, &one.name).cmp(&(other.since, &other.name)));
        Ok(waiting)
    }

    /// How many runs were put aside.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn refused(&self) -> Result<usize, SpoolError> {
        let names = self.directory.names().map_err(|error| SpoolError::Io(self.path().to_owned(), error))?;
        Ok(names.iter().filter(|name| name.to_string_lossy().ends_with(REFUSED)).count())
    }

    /// The compressed file of a run that waits.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, run: &Spooled) -> Result<Vec<u8>, SpoolError> {
        let failed = |error| SpoolError::Io(self.path().join(&run.name), error);
        let mut content = Vec::new();
        let mut file = self.directory.open_own(&run.name).map_err(failed)?;
        file.read_to_end(&mut content).map_err(failed)?;
        Ok(content)
    }

    /// Removes a run that the target has.
    ///
    /// # Errors
    /// If the file system fails. The run is sent again then, which the target notices.
    pub fn remove(&self, run: &Spooled) -> Result<(), SpoolError> {
        let removed = self.directory.remove(&run.name);
        removed.map_err(|error| SpoolError::Io(self.path().join(&run.name), error))
    }

    /// Puts a run aside that the target refuses for good. It stays in the directory, and is not sent again. Returns its path.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn put_aside(&self, run: &Spooled) -> Result<PathBuf, SpoolError> {
        let mut aside = run.name.clone();
        aside.push(REFUSED);
        let renamed = self.directory.rename(&run.name, &self.directory, &aside);
        renamed.map_err(|error| SpoolError::Io(self.path().join(&run.name), error))?;
        Ok(self.path().join(aside))
    }
}
