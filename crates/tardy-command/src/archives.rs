//! Archives of runs, as other commands than those of archives read them: `tardy-archive` opens them.
//!
//! If that program is not installed, an archive in a directory is read as a directory of run files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tardy_archive::{Address, Entry, MARKER, Query, Stored};

use crate::executables;

/// The program that opens archives.
pub(crate) const PROGRAM: &str = "archive";
/// Its command for [`find`]: the archive follows, and the query is its input.
pub const FIND: &str = "__find";
/// Its command for [`stored_at`]: the path follows.
pub const STORED: &str = "__stored";

/// The ending of the name of a file that names the services of an archive.
const SERVICES: &str = "toml";

/// Whether `path` is an archive: a directory, or a file that names services.
pub fn is_archive(path: &Path) -> bool {
    path.join(MARKER).is_file() || names_services(path)
}

fn names_services(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == SERVICES) && path.is_file()
}

/// The files of the runs that `query` finds in the archive at `path`, and what is known of each; `None` if it is not an archive.
///
/// # Errors
/// If the archive cannot be read.
pub fn find(path: &Path, query: &Query) -> Result<Option<Vec<(PathBuf, Entry)>>> {
    if !is_archive(path) || !names_services(path) && !executables::is_installed(PROGRAM) {
        return Ok(None);
    }
    let found =
        executables::converted(PROGRAM, &[FIND.as_ref(), path.as_os_str()], &serde_json::to_vec(query)?)?;
    serde_json::from_slice(&found).map(Some).context("the answer of tardy-archive cannot be read")
}

/// The run file that a path names which is not one of the file system: that of an archive of services. `None` if it is another path.
///
/// # Errors
/// If the services do not have the run, or fail.
pub fn stored_at(path: &Path) -> Result<Option<Stored>> {
    if !Address::of_path(path).is_some_and(|(archive, _)| names_services(archive)) {
        return Ok(None);
    }
    let answer = executables::converted(PROGRAM, &[STORED.as_ref(), path.as_os_str()], &[])?;
    let line =
        answer.iter().position(|byte| *byte == b'\n').context("the answer of tardy-archive is cut short")?;
    let name =
        serde_json::from_slice(&answer[..line]).context("the answer of tardy-archive cannot be read")?;
    Ok(Some(Stored { name, content: answer[line + 1..].to_vec() }))
}
