//! `tardy restore`: undoes kernel settings that a crash left changed.

use anyhow::{Result, anyhow};
use tardy_host::journal::{Fate, Place, restore};
use tardy_measure::doctor;
use tardy_sys::files;
use tardy_sys::kernel_files::KernelFiles;

use super::output;
use crate::args::RestoreArgs;
use crate::exit::Exit;

/// Undoes every entry of the journal whose process has ended.
pub(crate) fn run(arguments: &RestoreArgs) -> Result<Exit> {
    let files = KernelFiles::under(&arguments.kernel_root);
    let place = Place::of(&files);
    let entries = restore(&place, &files, &tardy_measure::undo_kinds()).map_err(|reason| anyhow!(reason))?;
    let had_trials = doctor::discard_leftovers(&place);
    if had_trials {
        output::report("removed: the trials of a 'tardy check --measure' that was killed");
    }
    if entries.is_empty() && !had_trials {
        output::report("nothing to restore: the journal is empty");
    }
    let mut exit = Exit::Done;
    for entry in entries {
        let what = &entry.what;
        match entry.fate {
            Fate::Undone => output::report(&format!("restored: {what}")),
            Fate::LeftAlone { what } => {
                output::report(&format!("not restored: {what}; another process has changed it since"));
            }
            Fate::InUse { pid } => {
                output::report(&format!(
                    "not restored: {what}; process {pid} is still running and will restore it"
                ));
            }
            Fate::Failed { reason } => {
                let hint = if files::caller() == 0 { "" } else { "; try again as root" };
                output::report(&format!("not restored: {what}: {reason}{hint}"));
                exit = Exit::CouldNot;
            }
        }
    }
    Ok(exit)
}
