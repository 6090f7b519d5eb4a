//! An archive on a disk.

use std::fs::File;
use std::path::{Path, PathBuf};

use tardy_record::{Run, file};
use tardy_sys::files::{self, Directory};

use crate::address::Address;
use crate::address::MARKER;
use crate::entry::{Entry, Outcome};
use crate::error::ArchiveError;
use crate::index::{self, Age, Index};
use crate::layout::{self, AT_A_TIME};
use crate::query::Query;
use crate::stored::Stored;

/// An open archive.
#[derive(Debug)]
pub struct Archive {
    pub(crate) path: PathBuf,
    pub(crate) index: Index,
    /// Held by a process that adds, so that one does at a time.
    lock: Option<File>,
}

impl Archive {
    /// Whether `path` is an archive, of whatever version.
    pub fn is_at(path: &Path) -> bool {
        path.join(MARKER).is_file()
    }

    /// Opens an archive to read it. Nothing is written.
    ///
    /// # Errors
    /// If there is none, or it or its index has another version.
    pub fn to_read(path: &Path) -> Result<Self, ArchiveError> {
        layout::check_marker(path)?;
        let file = path.join(index::FILE);
        if !file.is_file() {
            return Err(ArchiveError::NoIndex(path.to_owned()));
        }
        let index = Index::to_read(&file)?;
        match index.age()? {
            Age::Present => Ok(Self { path: path.to_owned(), index, lock: None }),
            Age::Earlier => Err(ArchiveError::NoIndex(path.to_owned())),
            Age::Later => Err(ArchiveError::NewerIndex(path.to_owned())),
        }
    }

    /// Opens an archive to add to it, and makes it if `path` is missing or an empty directory. An index of an earlier version is
    /// made again, and what a killed process left unfinished is finished.
    ///
    /// # Errors
    /// If the directory has other files, the archive or its index was made by a later tardy, or the file system fails.
    pub fn to_add(path: &Path) -> Result<Self, ArchiveError> {
        let lock = layout::lock(path)?;
        if !Self::is_at(path) {
            layout::make(path)?;
        }
        layout::check_marker(path)?;
        let file = path.join(index::FILE);
        if file.is_file() {
            let index = Index::to_write(&file)?;
            match index.age()? {
                Age::Present => {
                    let mut archive = Self { path: path.to_owned(), index, lock: Some(lock) };
                    archive.finish_unfinished()?;
                    return Ok(archive);
                }
                Age::Later => return Err(ArchiveError::NewerIndex(path.to_owned())),
                Age::Earlier => {}
            }
        }
        Self::index_again(path, lock).map(|(archive, _)| archive)
    }

    /// Makes the index again from the run files, and returns those that cannot be read.
    ///
    /// # Errors
    /// If there is no archive, or the file system fails.
    pub fn make_index(path: &Path) -> Result<(Self, Vec<ArchiveError>), ArchiveError> {
        layout::check_marker(path)?;
        Self::index_again(path, layout::lock(path)?)
    }

    fn index_again(path: &Path, lock: File) -> Result<(Self, Vec<ArchiveError>), ArchiveError> {
        let directory = Directory::named(path).map_err(ArchiveError::io(path))?;
        let temporary = format!("{}.new", index::FILE);
        // What a killed process left.
        let journal = |name: &str| format!("{name}-journal");
        for name in [&temporary, &journal(&temporary)] {
            let _ = directory.remove(name.as_ref());
        }
        let new = path.join(&temporary);
        drop(directory.create_new(temporary.as_ref(), layout::mode(path)?).map_err(ArchiveError::io(&new))?);
        let mut index = Index::new(&new)?;
        let mut unreadable = Vec::new();
        for addresses in layout::stored_files(path)?.chunks(AT_A_TIME) {
            let mut runs = Vec::new();
            for address in addresses {
                match outcome(path, address) {
                    Ok((id, outcome)) => runs.push((address.clone(), id, outcome)),
                    Err(error) => unreadable.push(error),
                }
            }
            index.put(&runs, true)?;
        }
        // SQLite does not write into a file that was moved while it was open.
        drop(index);
        // A journal of the index before must not be applied to this one, and an index without its journal must not be read.
        for name in [index::FILE, &journal(index::FILE)] {
            let _ = directory.remove(name.as_ref());
        }
        directory
            .rename(temporary.as_ref(), &directory, index::FILE.as_ref())
            .map_err(ArchiveError::io(path.join(index::FILE)))?;
        let index = Index::to_write(&path.join(index::FILE))?;
        Ok((Self { path: path.to_owned(), index, lock: Some(lock) }, unreadable))
    }

    /// Puts right what a process left that was killed between writing the index and the files.
    fn finish_unfinished(&mut self) -> Result<(), ArchiveError> {
        for address in self.index.unfinished()? {
            match self.path.join(address.path()).is_file() {
                true => self.index.note_stored([&address], true)?,
                false => self.index.remove(&address)?,
            }
        }
        layout::remove_temporary_files(&self.path)
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The runs that `query` finds, the oldest first.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn find(&self, query: &Query) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        self.index.find(query)
    }

    /// A run file, whose content has been compared with its address.
    pub(crate) fn content(&self, address: &Address) -> Result<Stored, ArchiveError> {
        match layout::stored(&self.path, address) {
            Err(ArchiveError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound && !self.index.has(address)? =>
            {
                Err(ArchiveError::Unknown(address.clone()))
            }
            stored => stored,
        }
    }

    /// Removes a run. Killed at any point, the next process that adds either finds the file in its place, or forgets the run.
    pub(crate) fn remove(&mut self, address: &Address) -> Result<bool, ArchiveError> {
        if !self.index.has(address)? {
            return Ok(false);
        }
        self.index.note_stored([address], false)?;
        let file = self.path.join(address.path());
        let directory = Directory::named(&self.path).map_err(ArchiveError::io(&self.path))?;
        match files::remove_own(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(ArchiveError::io(file)(error));
            }
            _ => directory.sync_file_system().map_err(ArchiveError::io(&self.path))?,
        }
        self.index.remove(address)?;
        Ok(true)
    }

    /// Changes the archive by `change`, which gets an archive that may be written.
    pub(crate) fn changed<T>(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        if self.lock.is_some() {
            return change(self);
        }
        let mut to_add = Self::to_add(&self.path)?;
        let outcome = change(&mut to_add);
        drop(to_add);
        // The index may have been made again, as another file.
        *self = Self::to_read(&self.path)?;
        outcome
    }

    /// Opens a run.
    ///
    /// # Errors
    /// If its file is missing or damaged.
    pub fn open(&self, address: &Address) -> Result<Run, ArchiveError> {
        let stored = layout::stored(&self.path, address)?;
        parsed(&self.path, address, stored).map(|(run, _)| run)
    }
}

/// The identity of the run of `address` in the archive at `path`, and what is searched for of it.
fn outcome(path: &Path, address: &Address) -> Result<(String, Outcome), ArchiveError> {
    outcome_of(path, address, layout::stored(path, address)?)
}

/// The same of a file that was read.
pub(crate) fn outcome_of(
    path: &Path,
    address: &Address,
    stored: Stored,
) -> Result<(String, Outcome), ArchiveError> {
    let (mut run, name) = parsed(path, address, stored)?;
    let outcome = Outcome::of_any_file(&mut run, &name, address)?;
    Ok((run.origin.id, outcome))
}

/// The run of a file of the archive at `path`, and the name that the file had.
fn parsed(
    path: &Path,
    address: &Address,
    Stored { name, content }: Stored,
) -> Result<(Run, String), ArchiveError> {
    // Only the path says which run it is.
    let damaged = |error: file::RunFileError| ArchiveError::Damaged {
        path: path.join(address.path()),
        reason: error.to_string(),
    };
    Ok((file::from_text(&content).map_err(damaged)?, name))
}
