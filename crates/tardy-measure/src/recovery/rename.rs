//! Changes the name of a run in its file.

use std::path::{Path, PathBuf};

use tardy_record::Run;
use tardy_record::run::State;
use thiserror::Error;

use super::{OpenError, OwnFile, OwnFileError};

/// Why a run cannot be named.
#[derive(Debug, Error)]
pub enum RenameError {
    /// The run cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The path names a link or a directory.
    #[error("{path} cannot be changed: {reason}")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it names, and what to name instead.
        reason: &'static str,
    },
    /// The file or its directory does not belong to the caller, or the file cannot be written.
    #[error(
        "{path} cannot be changed: {source}. Only the owner of the file and of its directory can name a run; as another user, copy \
         it to a directory of your own and name the copy"
    )]
    Foreign {
        /// The run file.
        path: PathBuf,
        /// The rule that the file or its directory breaks.
        source: std::io::Error,
    },
    /// The run has not ended.
    #[error("{0}: this run is still in progress; name it after its end")]
    InProgress(PathBuf),
    /// The run was killed and not sealed.
    #[error("{path}: this run was cut short; seal it with 'tardy recover {path}' before naming it")]
    CutShort {
        /// The run file.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("{path} cannot be written: {source}")]
    Io {
        /// The run file.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
}

impl From<OwnFileError> for RenameError {
    fn from(error: OwnFileError) -> Self {
        match error {
            OwnFileError::Open(error) => Self::Open(error),
            OwnFileError::NotAFile { path, reason } => Self::NotAFile { path, reason },
            OwnFileError::Foreign { path, source } => Self::Foreign { path, source },
            OwnFileError::Io { path, source } => Self::Io { path, source },
        }
    }
}

/// Sets the name of the run in `path`, or removes it. The file and its directory must belong to the caller. Returns the previous
/// name.
///
/// # Errors
/// If they do not, if the run has not ended, or if the file cannot be read or written. The file is unchanged then.
pub fn rename(path: &Path, name: Option<&str>) -> Result<Option<String>, RenameError> {
    let mut own = OwnFile::open(path)?;
    let text = own.read()?;
    let mut run: Run = tardy_record::file::from_text(&text)
        .map_err(|source| OpenError::Content { path: path.to_owned(), source })?;
    if run.progress.state == State::Running {
        return Err(match own.is_held() {
            true => RenameError::InProgress(path.to_owned()),
            false => RenameError::CutShort { path: path.to_owned() },
        });
    }
    let before = run.origin.clone();
    run.origin.name = name.map(str::to_owned);
    if before.name != run.origin.name {
        own.replace(&tardy_record::file::with_changed_origin(&text, &before, &run))?;
    }
    Ok(before.name)
}
