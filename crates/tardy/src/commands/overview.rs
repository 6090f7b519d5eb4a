//! The overview of the runs in directories, for `tardy list`, `show` and `report`.

use std::path::PathBuf;

use anyhow::Result;
use tardy_archive::{Entry, Query};
use tardy_compare::overview::{self, Overview, OverviewRow, SortKey};
use tardy_present::overview as shown;
use tardy_recipe::wrong;

use super::runs_below;
use tardy_args::RedactionFlag;
use tardy_command::{Exit, output};

/// The overview of the runs that `query` finds in `paths`, which are directories, archives and run files.
///
/// # Errors
/// If a path that the user named cannot be read, or if there is no run.
pub(super) fn of(paths: &[PathBuf], query: &Query, key: SortKey, reversed: bool) -> Result<Overview> {
    let known = |entry: Entry, file: &str| Some(OverviewRow { file: file.to_owned(), ..entry.row });
    let (rows, left_out) = runs_below::each_or_known(paths, query, overview::row, known)?;
    Ok(overview::of(rows, left_out, key, reversed))
}

/// Refuses `--redact` for an overview.
///
/// # Errors
/// If the flag is set.
pub(super) fn refuse_redaction(flag: RedactionFlag) -> Result<()> {
    if flag.redact {
        let reason = "an overview has the names of files and kernels; redact single runs instead";
        return Err(wrong("redact", reason).into());
    }
    Ok(())
}

/// Prints the overview; files that are not shown go to standard error.
pub(super) fn print(overview: &Overview, json: bool) -> Result<Exit> {
    if json {
        output::print_json(overview)?;
    } else {
        output::print(&shown::text(overview, output::width()))?;
        shown::remarks(&overview.left_out).iter().for_each(|remark| output::report(remark));
    }
    Ok(exit(overview))
}

/// [`Exit::CouldNot`] if a run file could not be read, so that a script notices.
pub(super) fn exit(overview: &Overview) -> Exit {
    if overview.left_out.unreadable.is_empty() { Exit::Done } else { Exit::CouldNot }
}
