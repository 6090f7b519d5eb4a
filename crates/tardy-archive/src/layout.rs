//! The files of an archive.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tardy_sys::files::{self, Directory, Existing};

use crate::address::{Address, MARKER, RUNS};
use crate::error::ArchiveError;
use crate::stored::{self, Stored};

/// The file that a process holds while it adds.
const LOCK: &str = "lock";
/// The version of the layout.
const VERSION: u32 = 1;
/// The modes of files, which the umask reduces: in an archive that only its owner can use, and in another.
const MODES: [u32; 2] = [0o600, 0o666];
/// Runs that share one wait for the disk.
pub(crate) const AT_A_TIME: usize = 256;

/// The mode of new files of the archive at `path`: others read its files only if they can use its directory.
pub(crate) fn mode(path: &Path) -> Result<u32, ArchiveError> {
    let is_private = Directory::named(path).and_then(|directory| directory.is_private());
    Ok(MODES[usize::from(!is_private.map_err(ArchiveError::io(path))?)])
}

/// The content of [`MARKER`].
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    /// The version of the layout.
    tardy_archive: u32,
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

/// The lock of a process that adds to the archive at `path`, which may be missing. Waits until no other process has it.
pub(crate) fn lock(path: &Path) -> Result<File, ArchiveError> {
    let others = names(path)?;
    if !others.is_empty() && !others.iter().any(|name| name == MARKER || name == LOCK) {
        return Err(ArchiveError::NotAnArchive(path.to_owned()));
    }
    files::make_private_directory(path).map_err(ArchiveError::io(path))?;
    let directory = Directory::named(path).map_err(ArchiveError::io(path))?;
    let file = path.join(LOCK);
    let opened = directory.own_file(LOCK.as_ref(), mode(path)?).map_err(ArchiveError::io(&file))?;
    files::hold_when_free(&opened).map_err(ArchiveError::io(&file))?;
    Ok(opened)
}

/// Removes the files of killed processes that never got their names. The caller has the lock.
pub(crate) fn remove_temporary_files(path: &Path) -> Result<(), ArchiveError> {
    for directory in names(&path.join(RUNS))? {
        let below = path.join(RUNS).join(&directory);
        for name in names(&below)?.iter().filter(|name| name.starts_with('.') && name.ends_with(".tmp")) {
            let file = below.join(name);
            files::remove_own(&file).map_err(ArchiveError::io(file))?;
        }
    }
    Ok(())
}

/// Makes an archive of a directory that has the lock and nothing else.
pub(crate) fn make(path: &Path) -> Result<(), ArchiveError> {
    if names(path)?.iter().any(|name| name != LOCK) {
        return Err(ArchiveError::NotAnArchive(path.to_owned()));
    }
    files::make_directories(&path.join(RUNS)).map_err(ArchiveError::io(path))?;
    let directory = Directory::named(path).map_err(ArchiveError::io(path))?;
    let text = serde_json::to_string(&Marker { tardy_archive: VERSION }).expect("a number can be written");
    let written =
        directory.replace(MARKER.as_ref(), mode(path)?, Existing::Replaced, |file| writeln!(file, "{text}"));
    written.map(drop).map_err(ArchiveError::io(path.join(MARKER)))
}

/// Checks that the directory is an archive of a version that is known.
pub(crate) fn check_marker(path: &Path) -> Result<(), ArchiveError> {
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
