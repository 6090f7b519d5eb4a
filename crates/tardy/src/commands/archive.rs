//! `tardy archive`: keeps runs in archives.

mod add;
mod index;
mod verify;

use anyhow::Result;
use tardy_args::ArchiveCommand;

use crate::exit::Exit;

pub(super) use add::Addition;

/// Runs one of the commands.
pub(crate) fn run(command: &ArchiveCommand) -> Result<Exit> {
    match command {
        ArchiveCommand::Add(arguments) => add::run(arguments),
        ArchiveCommand::Index(arguments) => index::run(arguments),
        ArchiveCommand::Verify(arguments) => verify::run(arguments),
    }
}
