//! What stands for archives in a build without SQLite, such as one for a small board.

use std::path::Path;

use anyhow::{Result, bail};
use tardy_args::ArchiveCommand;

use tardy_command::Exit;

/// Runs that would be added to an archive.
pub(super) enum Addition {}

impl Addition {
    /// Refuses.
    pub(super) fn to(archive: &Path) -> Result<Self> {
        refuse(archive)
    }

    /// Never called.
    pub(super) fn content(&mut self, _: String, _: &str, _: &[u8]) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub(super) fn file(&mut self, _: &Path) -> Result<()> {
        match *self {}
    }

    /// Never called.
    pub(super) fn finish(self, _: bool) -> Result<bool> {
        match self {}
    }
}

/// Refuses each of the commands.
pub(crate) fn run(command: &ArchiveCommand) -> Result<Exit> {
    refuse(command.archive())
}

fn refuse<T>(archive: &Path) -> Result<T> {
    bail!(
        "this tardy was built without the feature 'server', so it cannot use {}; copy the run files to a machine whose tardy can",
        archive.display()
    )
}
