//! `tardy report`: an HTML report.

use anyhow::{Context, Result};
use tardy_measure::engine::result_file::ResultFile;
use tardy_present::report::{self, Chapter};
use tardy_recipe::wrong;
use tardy_record::Run;

use super::{output, published};
use crate::args::ReportArgs;
use crate::exit::Exit;

/// Writes the report of one or more runs.
pub(crate) fn run(arguments: &ReportArgs) -> Result<Exit> {
    let (published, paths): (Vec<_>, Vec<_>) =
        arguments.runs.iter().cloned().partition(|path| published::named(path).is_some());
    if paths.is_empty() {
        return Err(wrong(
            "run",
            "a published result has no distribution, so a report needs at least one run; 'tardy show' prints a published \
             result",
        )
        .into());
    }
    let mut runs = output::all_redacted(output::open_runs(&paths)?, arguments.redaction)?;
    for path in &published {
        let id = &published::named(path).context("a published result")??.id;
        for run in runs.iter_mut().filter(|run| !run.plan.published.contains(id)) {
            run.plan.published.push(id.clone());
        }
    }
    let file = output::claim(&arguments.output, &paths, arguments.force)?;
    write(&runs, &file)?;
    Ok(Exit::Done)
}

/// Writes the report of `runs` and prints its path.
pub(super) fn write(runs: &[Run], file: &ResultFile) -> Result<()> {
    let runs: Vec<&Run> = runs.iter().collect();
    finish(&report::html(&runs, &published::options()?), file)
}

/// Writes one report of several experiments, one chapter each, and prints its path.
pub(super) fn write_chapters(chapters: &[Chapter<'_>], file: &ResultFile) -> Result<()> {
    finish(&report::html_of_chapters(chapters, &published::options()?), file)
}

fn finish(page: &str, file: &ResultFile) -> Result<()> {
    file.write(page.as_bytes())?;
    output::report(&format!("report {}", file.path().display()));
    Ok(())
}
