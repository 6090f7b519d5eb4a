//! `tardy restore`: what a crash left changed is put back.

use anyhow::{Result, anyhow};
use tardy_host::journal::{Fate, Place, restore};
use tardy_sys::kernel_files::KernelFiles;

use super::output;
use crate::args::RestoreArgs;
use crate::exit::Exit;

/// Undoes every entry of the journal whose owner is dead.
pub(crate) fn run(arguments: &RestoreArgs) -> Result<Exit> {
    let files = KernelFiles::under(&arguments.kernel_root);
    let entries = restore(&Place::of(&files), &files, &tardy_measure::undo_kinds())
        .map_err(|reason| anyhow!(reason))?;
    if entries.is_empty() {
        output::tell("nothing to restore: the journal is empty");
    }
    let mut exit = Exit::Done;
    for entry in entries {
        let what = &entry.what;
        match entry.fate {
            Fate::Undone => output::tell(&format!("restored: {what}")),
            Fate::LeftAlone { what } => {
                output::tell(&format!("left alone: {what}; somebody else has changed it since"));
            }
            Fate::InUse { pid } => {
                output::tell(&format!("left alone: {what}; process {pid} is alive and puts it back itself"));
            }
            Fate::Failed { reason } => {
                output::tell(&format!("not restored: {what}: {reason}; as root it may be possible"));
                exit = Exit::CouldNot;
            }
        }
    }
    Ok(exit)
}
