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

use anyhow::Result;
use tardy_archive::ArchiveError;
use tardy_args::ArchiveCommand;
use tardy_command::{Exit, archives};
use tardy_server::OpenStore;

pub(super) use add::Addition;

/// The directory of the server's records, and what opens the archive for a request. The archive is made if it is new, and what a killed
/// process left is finished.
pub(super) fn to_serve(path: &Path) -> Result<(PathBuf, OpenStore)> {
    drop(archives::to_add(path)?);
    let (records, path) = (archives::records(path), path.to_owned());
    let failed = |error: anyhow::Error| {
        error.downcast::<ArchiveError>().unwrap_or_else(|other| ArchiveError::Service {
            service: "the archive".to_owned(),
            reason: tardy_command::message(&other),
        })
    };
    Ok((records, Box::new(move || archives::to_read(&path).map_err(failed))))
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
