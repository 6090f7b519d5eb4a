//! What stands for archives in a build without SQLite, such as one for a small board: run files are files.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tardy_archive::{Entry, Query, Stored};

/// Nothing: an archive is read as a directory of run files.
///
/// # Errors
/// None.
pub fn find(_: &Path, _: &Query) -> Result<Option<Vec<(PathBuf, Entry)>>> {
    Ok(None)
}

/// There are no archives.
pub fn is_archive(_: &Path) -> bool {
    false
}

/// Run files are files.
///
/// # Errors
/// None.
pub fn stored_at(_: &Path) -> Result<Option<Stored>> {
    Ok(None)
}
