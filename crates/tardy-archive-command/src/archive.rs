//! `tardy archive`: keeps runs in archives.

mod add;
mod audit;
mod export;
mod index;
mod prune;
mod site;
mod token;
mod verify;

use std::path::{Path, PathBuf};

use crate::stores;
use anyhow::{Context, Result};
use tardy_archive::ArchiveError;
use tardy_args::ArchiveCommand;
use tardy_command::{Exit, output};
use tardy_server::OpenStore;
use tardy_sys::files::Directory;

pub(crate) use add::StoreAddition;

/// An archive that is served.
pub(super) struct ToServe {
    /// The directory of the server's records.
    pub(super) records: PathBuf,
    /// What opens the archive for a request.
    pub(super) open: OpenStore,
    /// Whether this process may write into it.
    pub(super) may_write: bool,
}

/// Prepares an archive that is served. It is made if it is new, and what a killed process left is finished. One that may only be read is
/// shown as it is.
pub(super) fn to_serve(path: &Path) -> Result<ToServe> {
    let may_write = match stores::to_add(path) {
        Ok(_) => true,
        Err(error)
            if error.downcast_ref().is_some_and(ArchiveError::forbids_writing)
                && stores::to_read(path).is_ok() =>
        {
            output::report(&format!(
                "the archive may only be read, so nothing is pushed, deleted or triaged: {}",
                tardy_command::message(&error)
            ));
            false
        }
        Err(error) => return Err(error),
    };
    let (records, path) = (stores::records(path), path.to_owned());
    let failed = |error: anyhow::Error| {
        error.downcast::<ArchiveError>().unwrap_or_else(|other| ArchiveError::Service {
            service: "the archive".to_owned(),
            reason: tardy_command::message(&other),
        })
    };
    Ok(ToServe { records, open: Box::new(move || stores::to_read(&path).map_err(failed)), may_write })
}

/// Takes the rights of other users of this machine away from an archive whose readers need a token. Returns whether they had any.
pub(super) fn make_private(path: &Path) -> Result<bool> {
    let directory = Directory::named(path).and_then(|directory| directory.make_private());
    directory.with_context(|| path.display().to_string())
}

/// The user who runs this command, as the audit log names people without a token.
fn user() -> String {
    let user = tardy_sys::files::caller();
    let name = ["SUDO_USER", "USER"].into_iter().find_map(|name| std::env::var(name).ok());
    match name.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))) {
        // A variable may say anything; the number is the kernel's.
        Some(name) => format!("user {user} ({name})"),
        None => format!("user {user}"),
    }
}

/// Runs one of the commands.
pub(crate) fn run(command: &ArchiveCommand) -> Result<Exit> {
    match command {
        ArchiveCommand::Add(arguments) => add::run(arguments),
        ArchiveCommand::Export(arguments) => export::run(arguments),
        ArchiveCommand::Index(arguments) => index::run(arguments),
        ArchiveCommand::Site(arguments) => site::run(arguments),
        ArchiveCommand::Verify(arguments) => verify::run(arguments),
        ArchiveCommand::Prune(arguments) => prune::run(arguments),
        ArchiveCommand::Token(arguments) => token::run(arguments),
        ArchiveCommand::Audit(arguments) => audit::run(arguments),
    }
}
