//! Converts a guest's results to a run.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow};
use tardy_lab::experiment::Outcome;
use tardy_measure::engine::result_file::ResultFile;
use tardy_record::lab::Lab;
use tardy_record::run::Origin;
use tardy_record::{Run, file};

use crate::assemble::RUN_FILE;
use tardy_command::origin;

/// The guest's run, with the description of the lab and the host's origin. The guest's own origin is the same every time.
pub(crate) fn run_of(outcome: &Outcome) -> Result<Run> {
    run_in(&outcome.files, outcome.lab.clone()).ok_or_else(|| {
        anyhow!("the guest returned no run file; its messages:\n    {}", outcome.output.join("\n    "))
    })?
}

/// The run in the files of a guest; `None` if there is none.
pub(crate) fn run_in(files: &[(String, Vec<u8>)], lab: Lab) -> Option<Result<Run>> {
    let (_, content) = files.iter().find(|(name, _)| name == RUN_FILE)?;
    Some(file::from_text(content).context("the run file of the guest").map(|run| with_lab(run, lab)))
}

fn with_lab(mut run: Run, lab: Lab) -> Run {
    run.lab = Some(lab);
    let boot_id = std::mem::take(&mut run.origin.boot_id);
    run.origin = Origin { boot_id, ..origin::of_this_command(SystemTime::now(), None) };
    run
}

/// The bytes that two runs of the same experiment must share: everything except the origin.
pub(crate) fn comparable(run: &Run) -> String {
    file::to_text(&Run { origin: Origin::default(), ..run.clone() })
}

/// The path of the run file of that name.
pub(crate) fn run_file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.run.json"))
}

/// The result files of one guest.
pub(crate) struct Files {
    pub(crate) run: ResultFile,
    pub(crate) console: ResultFile,
}

impl Files {
    /// Claims the paths before anything boots.
    pub(crate) fn claim(directory: &Path, slug: &str, force: bool) -> Result<Self> {
        let console = directory.join(format!("{slug}.console.log"));
        Ok(Self {
            run: ResultFile::claim(&run_file(directory, slug), force)?,
            console: ResultFile::claim(&console, force)?,
        })
    }
}
