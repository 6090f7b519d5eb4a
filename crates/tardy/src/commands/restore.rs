//! `tardy restore`: undoes kernel settings that a crash left changed.

use anyhow::{Result, anyhow};
use serde::Serialize;
use tardy_host::journal::{Fate, Place, Restored, restore};
use tardy_measure::doctor;
use tardy_sys::files;
use tardy_sys::kernel_files::KernelFiles;

use tardy_args::RestoreArgs;
use tardy_command::{Exit, output};

/// The result as JSON.
#[derive(Serialize)]
struct Answer {
    entries: Vec<Restored>,
    /// Whether trials of a killed 'tardy check --measure' were removed.
    trials_removed: bool,
}

/// Undoes every entry of the journal whose process has ended.
pub(crate) fn run(arguments: &RestoreArgs) -> Result<Exit> {
    let files = KernelFiles::under(&arguments.kernel_root);
    let place = Place::of(&files);
    let mut kinds = tardy_measure::undo_kinds();
    kinds.push(tardy_switch::UNDO);
    let entries = restore(&place, &files, &kinds).map_err(|reason| anyhow!(reason))?;
    let answer = Answer { entries, trials_removed: doctor::discard_leftovers(&place) };
    if arguments.json {
        output::print_json(&answer)?;
    } else {
        report(&answer);
    }
    let has_failed = answer.entries.iter().any(|entry| matches!(entry.fate, Fate::Failed { .. }));
    Ok(if has_failed { Exit::CouldNot } else { Exit::Done })
}

fn report(answer: &Answer) {
    if answer.trials_removed {
        output::report("removed: the trials of a 'tardy check --measure' that was killed");
    }
    if answer.entries.is_empty() && !answer.trials_removed {
        output::report("nothing to restore: the journal is empty");
    }
    for Restored { what, fate } in &answer.entries {
        output::report(&match fate {
            Fate::Undone => format!("restored: {what}"),
            Fate::LeftAlone { what } => {
                format!("not restored: {what}; another process has changed it since")
            }
            Fate::InUse { pid } => {
                format!("not restored: {what}; process {pid} is still running and will restore it")
            }
            Fate::Failed { reason } => {
                let hint = if files::caller() == 0 { "" } else { "; try again as root" };
                format!("not restored: {what}: {reason}{hint}")
            }
        });
    }
}
