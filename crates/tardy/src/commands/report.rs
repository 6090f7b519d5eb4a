//! `tardy report`: one HTML file for people to look at.

use anyhow::Result;
use tardy_measure::run::result_file::ResultFile;
use tardy_present::report::{self, Chapter};
use tardy_record::Run;

use super::output;
use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::published;

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
    finish(&report::html(&runs, &published::options()?), file)
}

/// Writes one report of several experiments, a chapter each, and says where it is.
pub(super) fn write_chapters(chapters: &[Chapter<'_>], file: &ResultFile) -> Result<()> {
    finish(&report::html_of_chapters(chapters, &published::options()?), file)
}

fn finish(page: &str, file: &ResultFile) -> Result<()> {
    file.write(page.as_bytes())?;
    output::tell(&format!("report {}", file.path().display()));
    Ok(())
}
