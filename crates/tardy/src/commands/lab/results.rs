//! What a guest handed out, as a run of this machine's.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow};
use tardy_lab::experiment::Outcome;
use tardy_measure::run::result_file::ResultFile;
use tardy_record::run::Origin;
use tardy_record::{Run, file};

use super::prepare::RUN_FILE;
use crate::commands::origin;

/// The run in what a guest handed out, with the lab's place in the record and an origin of its own.
///
/// What the guest itself wrote there would be the same every time, and says nothing: the host's name and time go there.
pub(super) fn run_of(outcome: &Outcome) -> Result<Run> {
    let (_, content) = outcome.files.iter().find(|(name, _)| name == RUN_FILE).ok_or_else(|| {
        anyhow!("the guest handed out no run. It said:\n    {}", outcome.output.join("\n    "))
    })?;
    let mut run = file::from_text(content).context("the guest's run file")?;
    run.lab = Some(outcome.lab.clone());
    let boot_id = std::mem::take(&mut run.origin.boot_id);
    run.origin = Origin { boot_id, ..origin::of_this_command(SystemTime::now(), None) };
    Ok(run)
}

/// What two runs of one identity must have in common: everything but the origin, as bytes.
pub(super) fn comparable(run: &Run) -> String {
    file::to_text(&Run { origin: Origin::default(), ..run.clone() })
}

/// Where a run of this name is kept.
pub(super) fn run_file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.run.json"))
}

/// The files of one guest in the results' directory.
pub(super) struct Files {
    pub(super) run: ResultFile,
    pub(super) console: ResultFile,
}

impl Files {
    /// Claims the places before anything is booted.
    pub(super) fn claim(directory: &Path, slug: &str, force: bool) -> Result<Self> {
        let console = directory.join(format!("{slug}.console.log"));
        Ok(Self {
            run: ResultFile::claim(&run_file(directory, slug), force)?,
            console: ResultFile::claim(&console, force)?,
        })
    }
}
