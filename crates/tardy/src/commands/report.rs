//! `tardy report`: an HTML report of runs, or the overview of a directory as a page.

use std::path::PathBuf;

use anyhow::{Context, Result};
use tardy_compare::overview::SortKey;
use tardy_present::overview as shown;
use tardy_recipe::wrong;

use super::{overview, runs_below};
use tardy_args::ReportArgs;
use tardy_command::{Exit, identity, output, pages, published, versus};

/// Writes the report of one or more runs.
pub(crate) fn run(arguments: &ReportArgs) -> Result<Exit> {
    if let Some(groups) = versus::Compared::of(&arguments.groups, arguments.redaction)? {
        let file = output::claim(&arguments.output, &arguments.groups.paths(), arguments.force)?;
        pages::finish(&groups.page(), &file)?;
        return Ok(groups.exit());
    }
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
    if paths.iter().any(|path| runs_below::has_several(path)) {
        return of_directory(arguments, &paths, !published.is_empty());
    }
    let mut runs = output::open_runs(&paths, arguments.redaction)?;
    for path in &published {
        let id = &published::named(path).context("a published result")??.id;
        for run in runs.iter_mut().filter(|run| !run.plan.published.contains(id)) {
            run.plan.published.push(id.clone());
        }
    }
    let file = output::claim(&arguments.output, &paths, arguments.force)?;
    pages::write(&runs, &file)?;
    Ok(Exit::Done)
}

/// Writes the overview of all runs in `paths`, some of which are directories.
fn of_directory(arguments: &ReportArgs, paths: &[PathBuf], with_published: bool) -> Result<Exit> {
    if with_published {
        let reason =
            "a published result is shown next to single runs, not in the overview of a directory; remove it";
        return Err(wrong("run", reason).into());
    }
    overview::refuse_redaction(arguments.redaction)?;
    let overview = overview::of(paths, &arguments.query.query(), SortKey::default(), false)?;
    let file = output::claim(&arguments.output, paths, arguments.force)?;
    let place = runs_below::named(paths);
    pages::finish(&shown::html(&overview, &place, identity::get()), &file)?;
    Ok(overview::exit(&overview))
}
