//! The runs in directories and archives: each is opened, reduced to what a command needs, and released in turn.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_archive::{Entry, Outcome, Query};
use tardy_compare::overview::{LeftOut, Unreadable};
use tardy_present::overview as shown;
use tardy_record::Run;

use tardy_command::{archives, file_tree, opened, output};

/// What `of` makes of each run in `paths`, which are directories, archives and run files, and the files that are not runs. Of archives
/// and directories, those that `query` finds.
///
/// # Errors
/// If a path that the user named cannot be read, or if there is no run.
pub(super) fn each<T>(
    paths: &[PathBuf],
    query: &Query,
    of: impl Fn(&Run, &str) -> T,
) -> Result<(Vec<T>, LeftOut)> {
    each_or_known(paths, query, of, |_, _| None)
}

/// As [`each`]. A run of an archive is not opened if `known` makes something of its entry and its file.
///
/// # Errors
/// As for [`each`].
pub(super) fn each_or_known<T>(
    paths: &[PathBuf],
    query: &Query,
    of: impl Fn(&Run, &str) -> T,
    known: impl Fn(Entry, &str) -> Option<T>,
) -> Result<(Vec<T>, LeftOut)> {
    let mut search = Search { query, of, known, found: Vec::new(), left_out: LeftOut::default() };
    for path in paths {
        search.path(path)?;
    }
    let Search { found, left_out, .. } = search;
    if found.is_empty() {
        shown::remarks(&left_out).iter().for_each(|remark| output::report(remark));
        match query.is_empty() {
            true => bail!("no run files in {}; 'tardy run' and 'tardy import' write them", named(paths)),
            false => bail!("no run in {} meets all conditions; leave one out", named(paths)),
        }
    }
    Ok((found, left_out))
}

struct Search<'a, T, O, K> {
    query: &'a Query,
    of: O,
    known: K,
    found: Vec<T>,
    left_out: LeftOut,
}

impl<T, O: Fn(&Run, &str) -> T, K: Fn(Entry, &str) -> Option<T>> Search<'_, T, O, K> {
    fn path(&mut self, path: &Path) -> Result<()> {
        if let Some(known) = archives::find(path, self.query)? {
            self.archive(known);
            return Ok(());
        }
        if !path.is_dir() {
            let run = opened_run(path)?;
            self.found.push((self.of)(&run, &text(path)));
            return Ok(());
        }
        let tree = file_tree::below(path).with_context(|| format!("cannot read {}", path.display()))?;
        self.left_out.links_outside.extend(tree.links_outside.iter().map(|link| text(link)));
        for (path, error) in &tree.unreadable {
            self.unreadable(path, format!("{}: {error}", path.display()));
        }
        for file in &tree.files {
            match opened_if_run(file) {
                Ok(Some(run)) => self.run(&run, file),
                Ok(None) => self.left_out.other_files.push(text(file)),
                Err(error) => self.unreadable(file, tardy_command::message(&error)),
            }
        }
        Ok(())
    }

    fn archive(&mut self, known: Vec<(PathBuf, Entry)>) {
        for (file, entry) in known {
            if let Some(one) = (self.known)(entry, &text(&file)) {
                self.found.push(one);
                continue;
            }
            match opened_run(&file) {
                Ok(run) => self.found.push((self.of)(&run, &text(&file))),
                Err(error) => self.unreadable(&file, tardy_command::message(&error)),
            }
        }
    }

    fn run(&mut self, run: &Run, file: &Path) {
        let file = text(file);
        if self.query.is_empty() || self.query.finds(&Outcome::of(run, &file)) {
            self.found.push((self.of)(run, &file));
        }
    }

    fn unreadable(&mut self, file: &Path, error: String) {
        self.left_out.unreadable.push(Unreadable { file: text(file), error });
    }
}

/// Whether a path is a directory of runs or an archive, not a run file.
pub(super) fn has_several(path: &Path) -> bool {
    path.is_dir() || archives::is_archive(path)
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

/// `None` for a file that is not a run file.
fn opened_if_run(path: &Path) -> Result<Option<Run>> {
    let is_run = opened::is_run_file(path).with_context(|| path.display().to_string())?;
    is_run.then(|| opened_run(path)).transpose()
}

fn opened_run(path: &Path) -> Result<Run> {
    let mut opened = opened::open(path)?;
    output::name_after_file(&mut opened.run, path);
    Ok(opened.run)
}
