//! `tardy report`: one HTML file for people to look at.

use std::path::Path;

use anyhow::Result;
use tardy_analyse::findings::Options;
use tardy_present::report;
use tardy_record::Run;

use super::output;
use crate::args::ReportArgs;
use crate::exit::Exit;

/// Writes the report of one run, or of several over each other.
pub(crate) fn run(arguments: &ReportArgs) -> Result<Exit> {
    let runs = output::open_runs(&arguments.runs)?;
    write(&runs, &arguments.output)?;
    eprintln!("tardy: report {}", arguments.output.display());
    Ok(Exit::Done)
}

/// Writes the report of `runs`.
pub(super) fn write(runs: &[Run], path: &Path) -> Result<()> {
    let runs: Vec<&Run> = runs.iter().collect();
    output::write_file(path, &report::html(&runs, &Options::default()))
}
