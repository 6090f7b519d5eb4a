//! Why a file cannot be imported, or a run not exported.

use thiserror::Error;

/// Why a file cannot be imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The disk, or the compression.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// Content that no importer knows.
    #[error(
        "is in no format that tardy knows; 'tardy import --list' names them, and --as says which it is where its \
         beginning was cut off"
    )]
    NoFormat,
    /// The file is empty.
    #[error("is empty: there is nothing to import; a tool that was killed before its end writes nothing")]
    Empty,
    /// The file does not say its unit.
    #[error(
        "{format} does not say whether its numbers are microseconds or nanoseconds; say --unit us (what the tool does \
         by itself) or --unit ns, or give its command line with --command"
    )]
    UnitUnknown {
        /// The format's description.
        format: &'static str,
    },
    /// A file of a capture that is spread over several, and not the one that stands for it.
    #[error("is not of the channel with the stimulus: the capture is imported as {0}, beside it")]
    OtherChannel(
        /// The file that is.
        String,
    ),
    /// Content that makes no sense, or contradicts itself.
    #[error("{place}: {reason}")]
    At {
        /// Where: a line and a column's name, or a field's path.
        place: String,
        /// What is wrong there, and what to do.
        reason: String,
    },
    /// Content that was cut off in its compression or archive, and makes no sense without its end.
    #[error("{how}; {error}")]
    CutOff {
        /// Where it was cut off.
        how: String,
        /// What is wrong with what is there.
        error: Box<ImportError>,
    },
    /// More than is read.
    #[error("{0}")]
    TooMuch(String),
}

impl ImportError {
    /// Something is wrong in a line.
    pub(crate) fn line(number: u64, field: &str, reason: impl Into<String>) -> Self {
        Self::At { place: format!("line {number}, {field}"), reason: reason.into() }
    }

    /// Something is wrong in a field.
    pub(crate) fn field(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::At { place: path.into(), reason: reason.into() }
    }
}

/// What importers give.
pub(crate) type Result<T> = std::result::Result<T, ImportError>;

/// Why a run cannot be written in a format.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The format has no place for what the run holds.
    #[error("{format} has no place for {what}; {instead}")]
    NoPlace {
        /// The format.
        format: &'static str,
        /// What it cannot hold.
        what: String,
        /// What to do instead.
        instead: String,
    },
}
