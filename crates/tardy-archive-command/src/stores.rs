//! The store behind the name of an archive: a directory, or services that a file names.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tardy_archive::{Archive, ArchiveError, Damage, Entry, Query, Store, Stored};

/// Opens an archive to read it.
pub(crate) fn to_read(path: &Path) -> Result<Box<dyn Store>> {
    match services::is_at(path) {
        true => services::to_read(path),
        false => Ok(Box::new(Archive::to_read(path)?)),
    }
}

/// Opens an archive to add to it.
pub(crate) fn to_add(path: &Path) -> Result<Box<dyn Store>> {
    match services::is_at(path) {
        true => services::to_add(path),
        false => Ok(Box::new(Archive::to_add(path)?)),
    }
}

/// The directory with the records of an archive's server: tokens, alerts, the audit log. That of services is next to the file that
/// names them.
pub(crate) fn records(path: &Path) -> PathBuf {
    match services::is_at(path) {
        true => path.with_extension("records"),
        false => path.to_owned(),
    }
}

/// Makes the index again: the runs that it has, and why other files are not in it.
pub(crate) fn make_index(path: &Path) -> Result<(Box<dyn Store>, Vec<ArchiveError>)> {
    if services::is_at(path) {
        return services::make_index(path);
    }
    let (archive, unreadable) = Archive::make_index(path)?;
    Ok((Box::new(archive), unreadable))
}

/// Reads every run: how many there are, and what is wrong.
pub(crate) fn verify(path: &Path) -> Result<(usize, Vec<Damage>)> {
    match services::is_at(path) {
        true => services::verify(path),
        false => Ok(Archive::to_read(path)?.verify()?),
    }
}

/// The run file that a path names which is not one of the file system. `None` if it is another path.
///
/// # Errors
/// If the services do not have the run, or fail.
pub(crate) fn stored_at(path: &Path) -> Result<Option<Stored>> {
    services::stored_at(path)
}

/// The files of the runs that `query` finds in the archive at `path`.
///
/// # Errors
/// If the archive cannot be read.
pub(crate) fn find(path: &Path, query: &Query) -> Result<Vec<(PathBuf, Entry)>> {
    let found = to_read(path)?.find(query)?;
    Ok(found.into_iter().map(|(address, entry)| (path.join(address.path()), entry)).collect())
}

#[cfg(feature = "warehouse")]
mod services {
    use std::path::Path;

    use anyhow::Result;
    use tardy_archive::{ArchiveError, Damage, Store, Stored};
    use tardy_warehouse::Warehouse;

    pub(super) fn is_at(path: &Path) -> bool {
        Warehouse::is_at(path)
    }

    pub(super) fn to_read(path: &Path) -> Result<Box<dyn Store>> {
        Ok(Box::new(Warehouse::to_read(path)?))
    }

    pub(super) fn to_add(path: &Path) -> Result<Box<dyn Store>> {
        Ok(Box::new(Warehouse::to_add(path)?))
    }

    pub(super) fn make_index(path: &Path) -> Result<(Box<dyn Store>, Vec<ArchiveError>)> {
        let (archive, unreadable) = Warehouse::make_index(path)?;
        Ok((Box::new(archive), unreadable))
    }

    pub(super) fn verify(path: &Path) -> Result<(usize, Vec<Damage>)> {
        Ok(Warehouse::to_read(path)?.verify()?)
    }

    pub(super) fn stored_at(path: &Path) -> Result<Option<Stored>> {
        Ok(Warehouse::stored_at(path).transpose()?)
    }
}

/// A build without services refuses them.
#[cfg(not(feature = "warehouse"))]
mod services {
    use std::path::Path;

    use anyhow::{Result, bail};
    use tardy_archive::{ArchiveError, Damage, Store, Stored};

    pub(super) fn is_at(path: &Path) -> bool {
        path.extension().is_some_and(|suffix| suffix == "toml") && path.is_file()
    }

    pub(super) fn to_read(path: &Path) -> Result<Box<dyn Store>> {
        refuse(path)
    }

    pub(super) fn to_add(path: &Path) -> Result<Box<dyn Store>> {
        refuse(path)
    }

    pub(super) fn make_index(path: &Path) -> Result<(Box<dyn Store>, Vec<ArchiveError>)> {
        refuse(path)
    }

    pub(super) fn verify(path: &Path) -> Result<(usize, Vec<Damage>)> {
        refuse(path)
    }

    fn refuse<T>(path: &Path) -> Result<T> {
        bail!(
            "this tardy-archive was built without the feature 'warehouse', so it cannot use {}; use one that has it",
            path.display()
        )
    }

    pub(super) fn stored_at(_: &Path) -> Result<Option<Stored>> {
        Ok(None)
    }
}
