//! `tardy archive`: keeps runs in archives.

mod add;
mod export;
mod index;
mod site;
mod store;
mod verify;

use std::path::{Path, PathBuf};

use anyhow::Result;
use tardy_archive::{Entry, Query};
use tardy_args::ArchiveCommand;

use crate::exit::Exit;

pub(super) use add::Addition;
pub(super) use store::{is_archive, stored_at};

/// The files of the runs that `query` finds in the archive at `path`; `None` if it is not an archive.
///
/// # Errors
/// If the archive cannot be read.
pub(super) fn find(path: &Path, query: &Query) -> Result<Option<Vec<(PathBuf, Entry)>>> {
    if !is_archive(path) {
        return Ok(None);
    }
    let found = store::to_read(path)?.find(query)?;
    Ok(Some(found.into_iter().map(|(address, entry)| (path.join(address.path()), entry)).collect()))
}

/// Runs one of the commands.
pub(crate) fn run(command: &ArchiveCommand) -> Result<Exit> {
    match command {
        ArchiveCommand::Add(arguments) => add::run(arguments),
        ArchiveCommand::Export(arguments) => export::run(arguments),
        ArchiveCommand::Index(arguments) => index::run(arguments),
        ArchiveCommand::Site(arguments) => site::run(arguments),
        ArchiveCommand::Verify(arguments) => verify::run(arguments),
    }
}
