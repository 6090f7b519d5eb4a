//! Why an archive cannot be used, or a run cannot be kept.

use std::io;
use std::path::PathBuf;

use tardy_record::file::RunFileError;
use thiserror::Error;

use crate::Address;

/// Why an archive cannot be used, or a run cannot be kept.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The directory has other files.
    #[error(
        "{0} has files, and is not an archive; choose a new directory, or one that 'tardy archive add' made"
    )]
    NotAnArchive(PathBuf),
    /// There is no archive.
    #[error("{0} is not an archive; 'tardy archive add {0} RUN…' makes one")]
    Missing(PathBuf),
    /// A later tardy made it.
    #[error(
        "{path} is an archive of version {found}, and this tardy knows version {known}; use a newer tardy"
    )]
    Newer {
        /// The archive.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The latest version that is known.
        known: u32,
    },
    /// Its index was made by a later tardy.
    #[error(
        "the index of {0} was made by a later tardy; use that one, or remove index.sqlite3 and run 'tardy archive index {0}'"
    )]
    NewerIndex(PathBuf),
    /// Its index is missing, or was made by an earlier tardy.
    #[error(
        "the archive {0} has no index of this version; 'tardy archive index {0}' makes it from the run files"
    )]
    NoIndex(PathBuf),
    /// The archive does not have the run.
    #[error("the archive has no run {0}; 'tardy list ARCHIVE --json' names those that it has")]
    Unknown(Address),
    /// A service that keeps the archive does not answer, or refuses.
    #[error("{service}: {reason}")]
    Service {
        /// The service and its address, such as `ClickHouse at http://db:8123`.
        service: String,
        /// The error, and what to do.
        reason: String,
    },
    /// The file does not have the run's last numbers.
    #[error(
        "the run is in progress, or was killed; wait for its end, or write its last numbers into its file with 'tardy recover'"
    )]
    InProgress,
    /// A text of the run is longer than any real one.
    #[error("{what} of the run has {length} bytes; an archive keeps at most {most}")]
    TooLong {
        /// Which text.
        what: &'static str,
        /// Its length, in bytes.
        length: usize,
        /// What is kept.
        most: usize,
    },
    /// The archive has the same run with other content.
    #[error("the archive has run {id} with other content, as {address}; {differs}")]
    OtherContent {
        /// The identity of the run.
        id: String,
        /// The address of the one in the archive.
        address: Address,
        /// The difference, as a clause.
        differs: String,
    },
    /// The archive was opened to be read.
    #[error("the archive may only be read here; change it on the machine and as the user that has it")]
    OnlyRead,
    /// A search has more conditions than any that people make.
    #[error("{count} options of the configuration; a search has at most {most}")]
    TooManyConditions {
        /// The options that it names.
        count: usize,
        /// How many it may name.
        most: usize,
    },
    /// A run that was accepted, and whose numbers no code expects.
    #[error("a fault of tardy: {0}; report it with the run file")]
    Fault(String),
    /// The content is not a run file.
    #[error(transparent)]
    NotARun(#[from] RunFileError),
    /// A stored file is damaged.
    #[error("{path}: {reason}; restore it from a copy of the archive")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A line of a log is damaged.
    #[error("{path}, line {line}: {reason}; remove the line, or restore the file from a copy of the archive")]
    DamagedLine {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The file system does not permit it or failed.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The index failed.
    #[error(
        "the index of the archive: {0}; if its directory can be written and the disk is not full, 'tardy archive index' makes it again"
    )]
    Index(#[from] rusqlite::Error),
}

impl ArchiveError {
    /// Whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            Self::Index(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            _ => false,
        }
    }

    /// Whether it is about the file of one run, and not about the archive: all other runs can be used.
    pub fn is_of_one_run(&self) -> bool {
        match self {
            Self::Unknown(_)
            | Self::Damaged { .. }
            | Self::NotARun(_)
            | Self::Fault(_)
            | Self::InProgress
            | Self::TooLong { .. } => true,
            Self::Io { .. } => !self.is_full(),
            _ => false,
        }
    }

    /// Whether the file system does not permit to write there.
    pub fn forbids_writing(&self) -> bool {
        match self {
            Self::Io { source, .. } => matches!(
                source.kind(),
                // The lock of another user is refused as an invalid input.
                io::ErrorKind::PermissionDenied
                    | io::ErrorKind::ReadOnlyFilesystem
                    | io::ErrorKind::InvalidInput
            ),
            Self::Index(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    rusqlite::ErrorCode::ReadOnly
                        | rusqlite::ErrorCode::CannotOpen
                        | rusqlite::ErrorCode::PermissionDenied
                )
            ),
            _ => false,
        }
    }

    /// The error of the file system at `path`.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { path, source }
    }
}
