//! Why an archive or a document cannot be read.

use thiserror::Error;

/// Why an archive or a document cannot be read.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The file cannot be read or decompressed.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// A member or a field is damaged.
    #[error("{place}: {reason}")]
    At {
        /// The member, the line and column, or the path of the field.
        place: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The content exceeds a limit on size, number or nesting.
    #[error("{0}")]
    TooMuch(String),
}

impl ArchiveError {
    /// An error in `place`.
    pub(crate) fn field(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::At { place: place.into(), reason: reason.into() }
    }
}

/// The result of reading an archive.
pub(crate) type Result<T, E = ArchiveError> = std::result::Result<T, E>;
