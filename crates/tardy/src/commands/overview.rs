//! The overview of the runs in directories, for `tardy list`, `show` and `report`.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_compare::overview::{self, LeftOut, Overview, OverviewRow, SortKey, Unreadable};
use tardy_measure::recovery;
use tardy_present::overview as shown;
use tardy_recipe::wrong;
use tardy_sys::files;

use super::{file_tree, output};
use crate::args::RedactionFlag;
use crate::exit::Exit;

/// A file is a run file if this key is near its beginning.
const KEY: &[u8] = b"\"schema_version\"";
/// How much of the beginning of a file is searched for [`KEY`], in bytes.
const BEGINNING: u64 = 256;

/// The overview of the runs in `paths`, which are directories and run files. Each run is opened, read and released in turn.
///
/// # Errors
/// If a directory that the user named cannot be read, or if there is no run.
pub(super) fn of(paths: &[PathBuf], key: SortKey, reversed: bool) -> Result<Overview> {
    let mut rows: Vec<OverviewRow> = Vec::new();
    let mut left_out = LeftOut::default();
    for path in paths {
        if !path.is_dir() {
            rows.push(row(path)?);
            continue;
        }
        let tree = file_tree::below(path).with_context(|| format!("cannot read {}", path.display()))?;
        left_out.links_outside.extend(tree.links_outside.iter().map(|link| text(link)));
        let unreadable = |(path, error): &(PathBuf, _)| Unreadable {
            file: text(path),
            error: format!("{}: {error}", path.display()),
        };
        left_out.unreadable.extend(tree.unreadable.iter().map(unreadable));
        for file in &tree.files {
            match row_if_run(file) {
                Ok(Some(row)) => rows.push(row),
                Ok(None) => left_out.other_files.push(text(file)),
                Err(error) => {
                    left_out.unreadable.push(Unreadable { file: text(file), error: crate::message(&error) });
                }
            }
        }
    }
    if rows.is_empty() {
        shown::remarks(&left_out).iter().for_each(|remark| output::report(remark));
        bail!("no run files in {}; 'tardy run' and 'tardy import' write them", named(paths));
    }
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

/// Names the directories for a message.
pub(super) fn named(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| text(path)).collect::<Vec<_>>().join(", ")
}

fn text(path: &Path) -> String {
    match path.strip_prefix(".") {
        Ok(inside) if !inside.as_os_str().is_empty() => inside.display().to_string(),
        _ => path.display().to_string(),
    }
}

fn is_run_file(path: &Path) -> std::io::Result<bool> {
    let mut beginning = Vec::new();
    files::open_to_read(path)?.take(BEGINNING).read_to_end(&mut beginning)?;
    let starts_object = beginning.trim_ascii_start().starts_with(b"{");
    Ok(starts_object && beginning.windows(KEY.len()).any(|bytes| bytes == KEY))
}

/// The row of a run file; `None` for another file.
fn row_if_run(path: &Path) -> Result<Option<OverviewRow>> {
    let is_run = is_run_file(path).with_context(|| path.display().to_string())?;
    is_run.then(|| row(path)).transpose()
}

fn row(path: &Path) -> Result<OverviewRow> {
    let mut opened = recovery::open(path)?;
    output::name_after_file(&mut opened.run, path);
    Ok(overview::row(&opened.run, &text(path)))
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
