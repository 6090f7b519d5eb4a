//! The runs in directories: each is opened, reduced to what a command needs, and released in turn.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_compare::overview::{LeftOut, Unreadable};
use tardy_measure::recovery;
use tardy_present::overview as shown;
use tardy_record::Run;
use tardy_sys::files;

use super::{file_tree, output};

/// A file is a run file if this key is near its beginning.
const KEY: &[u8] = b"\"schema_version\"";
/// How much of the beginning of a file is searched for [`KEY`], in bytes.
const BEGINNING: u64 = 256;

/// What `of` makes of each run in `paths`, which are directories and run files, and the files that are not runs.
///
/// # Errors
/// If a path that the user named cannot be read, or if there is no run.
pub(super) fn each<T>(paths: &[PathBuf], of: impl Fn(&Run, &str) -> T) -> Result<(Vec<T>, LeftOut)> {
    let mut found = Vec::new();
    let mut left_out = LeftOut::default();
    for path in paths {
        if !path.is_dir() {
            found.push(opened(path, &of)?);
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
            match opened_if_run(file, &of) {
                Ok(Some(one)) => found.push(one),
                Ok(None) => left_out.other_files.push(text(file)),
                Err(error) => {
                    left_out.unreadable.push(Unreadable { file: text(file), error: crate::message(&error) });
                }
            }
        }
    }
    if found.is_empty() {
        shown::remarks(&left_out).iter().for_each(|remark| output::report(remark));
        bail!("no run files in {}; 'tardy run' and 'tardy import' write them", named(paths));
    }
    Ok((found, left_out))
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

/// Whether a file begins as a run file does.
pub(super) fn is_run_file(path: &Path) -> std::io::Result<bool> {
    let mut beginning = Vec::new();
    files::open_to_read(path)?.take(BEGINNING).read_to_end(&mut beginning)?;
    let starts_object = beginning.trim_ascii_start().starts_with(b"{");
    Ok(starts_object && beginning.windows(KEY.len()).any(|bytes| bytes == KEY))
}

/// `None` for a file that is not a run file.
fn opened_if_run<T>(path: &Path, of: &impl Fn(&Run, &str) -> T) -> Result<Option<T>> {
    let is_run = is_run_file(path).with_context(|| path.display().to_string())?;
    is_run.then(|| opened(path, of)).transpose()
}

fn opened<T>(path: &Path, of: &impl Fn(&Run, &str) -> T) -> Result<T> {
    let mut opened = recovery::open(path)?;
    output::name_after_file(&mut opened.run, path);
    Ok(of(&opened.run, &text(path)))
}
