//! `tardy report`: one HTML file for people to look at.

use anyhow::Result;
use tardy_analyse::findings::Options;
use tardy_measure::run::result_file::ResultFile;
use tardy_present::report;
use tardy_record::Run;

use super::output;
use crate::args::ReportArgs;
use crate::exit::Exit;

/// Writes the report of one run, or of several over each other.
pub(crate) fn run(arguments: &ReportArgs) -> Result<Exit> {
    let runs = output::open_runs(&arguments.runs)?;
    let file = output::claim(&arguments.output, &arguments.runs, arguments.force)?;
    write(&runs, &file)?;
    Ok(Exit::Done)
}

/// Writes the report of `runs`, and says where it is.
pub(super) fn write(runs: &[Run], file: &ResultFile) -> Result<()> {
    let runs: Vec<&Run> = runs.iter().collect();
    file.write(report::html(&runs, &Options::default()).as_bytes())?;
    output::tell(&format!("report {}", file.path().display()));
    Ok(())
}
