//! An archive on a disk.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tardy_record::{Run, file};
use tardy_sys::files::{self, Directory, Existing};

use crate::address::{Address, RUNS};
use crate::entry::{Entry, Outcome};
use crate::error::ArchiveError;
use crate::index::{self, Age, Index};
use crate::query::Query;
use crate::stored::{self, Stored};

/// The file by which an archive is recognised.
pub const MARKER: &str = "tardy-archive.json";
/// The version of the layout.
const VERSION: u32 = 1;
/// The mode of files, which the umask reduces.
pub(crate) const MODE: u32 = 0o666;

/// The content of [`MARKER`].
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    /// The version of the layout.
    tardy_archive: u32,
}

/// An open archive.
#[derive(Debug)]
pub struct Archive {
    pub(crate) path: PathBuf,
    pub(crate) index: Index,
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
        check_marker(path)?;
        let file = path.join(index::FILE);
        if !file.is_file() {
            return Err(ArchiveError::NoIndex(path.to_owned()));
        }
        let index = Index::to_read(&file)?;
        match index.age()? {
            Age::Present => Ok(Self { path: path.to_owned(), index }),
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
        if !Self::is_at(path) {
            make(path)?;
        }
        check_marker(path)?;
        let file = path.join(index::FILE);
        if file.is_file() {
            let index = Index::to_write(&file)?;
            match index.age()? {
                Age::Present => {
                    let mut archive = Self { path: path.to_owned(), index };
                    archive.finish_unfinished()?;
                    return Ok(archive);
                }
                Age::Later => return Err(ArchiveError::NewerIndex(path.to_owned())),
                Age::Earlier => {}
            }
        }
        Self::make_index(path).map(|(archive, _)| archive)
    }

    /// Makes the index again from the run files, and returns those that cannot be read.
    ///
    /// # Errors
    /// If there is no archive, or the file system fails.
    pub fn make_index(path: &Path) -> Result<(Self, Vec<ArchiveError>), ArchiveError> {
        check_marker(path)?;
        let directory = Directory::named(path).map_err(ArchiveError::io(path))?;
        let temporary = format!("{}.new", index::FILE);
        // One that a killed process left.
        let _ = directory.remove(temporary.as_ref());
        let mut index = Index::new(&path.join(&temporary))?;
        let mut unreadable = Vec::new();
        for addresses in stored_files(path)?.chunks(crate::keep::AT_A_TIME) {
            let mut runs = Vec::new();
            for address in addresses {
                match read(path, address) {
                    Ok((mut run, name)) => {
                        let outcome = Outcome::of_file(&mut run, &name, address);
                        runs.push((address.clone(), run.origin.id.clone(), outcome));
                    }
                    Err(error) => unreadable.push(error),
                }
            }
            index.put(&runs, true)?;
        }
        // SQLite does not write into a file that was moved while it was open.
        drop(index);
        directory
            .rename(temporary.as_ref(), &directory, index::FILE.as_ref())
            .map_err(ArchiveError::io(path.join(index::FILE)))?;
        let index = Index::to_write(&path.join(index::FILE))?;
        Ok((Self { path: path.to_owned(), index }, unreadable))
    }

    /// Puts right what a process left that was killed between writing the index and the files.
    fn finish_unfinished(&mut self) -> Result<(), ArchiveError> {
        for address in self.index.unfinished()? {
            match self.path.join(address.path()).is_file() {
                true => self.index.note_stored(&address)?,
                false => self.index.remove(&address)?,
            }
        }
        Ok(())
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

    /// The addresses that begin with `digits`.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn beginning_with(&self, digits: &str) -> Result<Vec<Address>, ArchiveError> {
        self.index.beginning_with(digits)
    }

    /// Opens a run.
    ///
    /// # Errors
    /// If its file is missing or damaged.
    pub fn open(&self, address: &Address) -> Result<Run, ArchiveError> {
        read(&self.path, address).map(|(run, _)| run)
    }
}

/// The run of `address` in the archive at `path`, and the name that its file had.
fn read(path: &Path, address: &Address) -> Result<(Run, String), ArchiveError> {
    let Stored { name, content } = stored(path, address)?;
    Ok((file::from_text(&content)?, name))
}

/// A stored run file, which is checked.
///
/// # Errors
/// If it is missing, damaged, or has another content than its name says.
pub(crate) fn stored(path: &Path, address: &Address) -> Result<Stored, ArchiveError> {
    let file = path.join(address.path());
    let opened = files::open_to_read(&file).map_err(ArchiveError::io(&file))?;
    let damaged = |reason: String| ArchiveError::Damaged { path: file.clone(), reason };
    let stored = stored::read_compressed(opened).map_err(|error| damaged(error.to_string()))?;
    match Address::of(&stored.content) == *address {
        true => Ok(stored),
        false => Err(damaged("its content is not the one that its name says".to_owned())),
    }
}

/// The addresses of all stored run files, in order.
pub(crate) fn stored_files(path: &Path) -> Result<Vec<Address>, ArchiveError> {
    let runs = path.join(RUNS);
    let mut addresses = Vec::new();
    for directory in names(&runs)? {
        for name in names(&runs.join(&directory))? {
            addresses.extend(Address::of_names(&directory, &name));
        }
    }
    addresses.sort_unstable();
    Ok(addresses)
}

/// The names in a directory; none if there is no directory.
pub(crate) fn names(directory: &Path) -> Result<Vec<String>, ArchiveError> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(Vec::new()),
        Err(error) => return Err(ArchiveError::io(directory)(error)),
    };
    let name =
        |entry: std::io::Result<std::fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    entries.map(name).collect::<std::io::Result<_>>().map_err(ArchiveError::io(directory))
}

/// Makes an archive of a missing or empty directory.
fn make(path: &Path) -> Result<(), ArchiveError> {
    if !names(path)?.is_empty() {
        return Err(ArchiveError::NotAnArchive(path.to_owned()));
    }
    files::make_directories(&path.join(RUNS)).map_err(ArchiveError::io(path))?;
    let directory = Directory::named(path).map_err(ArchiveError::io(path))?;
    let text = serde_json::to_string(&Marker { tardy_archive: VERSION }).expect("a number can be written");
    let written =
        directory.replace(MARKER.as_ref(), MODE, Existing::Replaced, |file| writeln!(file, "{text}"));
    written.map(drop).map_err(ArchiveError::io(path.join(MARKER)))
}

fn check_marker(path: &Path) -> Result<(), ArchiveError> {
    let marker = path.join(MARKER);
    let text = match std::fs::read(&marker) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(ArchiveError::Missing(path.to_owned()));
        }
        Err(error) => return Err(ArchiveError::io(marker)(error)),
    };
    let found: Marker = serde_json::from_slice(&text)
        .map_err(|error| ArchiveError::Damaged { path: marker, reason: error.to_string() })?;
    match found.tardy_archive {
        known if known <= VERSION => Ok(()),
        found => Err(ArchiveError::Newer { path: path.to_owned(), found, known: VERSION }),
    }
}
