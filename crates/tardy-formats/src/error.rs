//! Errors of imports and exports.

use tardy_record::excerpt::excerpt;
use tardy_unpack::ArchiveError;
use thiserror::Error;

/// Why a file cannot be imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The file cannot be read or decompressed.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// No importer recognises the content.
    #[error(
        "has no format that tardy knows; 'tardy import --list' lists them. If its beginning was cut off, name the format \
         with --as. If another program added time stamps or colours to the lines, remove them"
    )]
    NoFormat,
    /// The content has a compression, archive format or encoding that is not supported.
    #[error("{0}")]
    Wrapped(
        /// The wrapping and the command that removes it.
        &'static str,
    ),
    /// The file is empty.
    #[error("is empty; the tool may have been killed before it wrote its results")]
    Empty,
    /// The file does not state its unit.
    #[error(
        "{format} does not state its unit; use --unit us (the tool's default) or --unit ns, or give the tool's command line \
         with --command"
    )]
    UnitUnknown {
        /// The format's description.
        format: &'static str,
    },
    /// The file is one of several files of a capture, but not the one to import.
    #[error("is not the channel with the stimulus; import {0} from the same directory")]
    OtherChannel(
        /// The file to import.
        String,
    ),
    /// Content that is malformed or contradicts itself.
    #[error("{place}: {reason}")]
    At {
        /// The place: a line and a column's name, or a field's path.
        place: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// Compressed or archived content that was cut off and cannot be read without its end.
    #[error("{how}; {error}")]
    CutOff {
        /// Where the content was cut off, as a sentence.
        how: String,
        /// The error in the part that could be read.
        error: Box<ImportError>,
    },
    /// The file exceeds a limit on size, number or nesting.
    #[error("{0}")]
    TooMuch(String),
}

impl From<ArchiveError> for ImportError {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Read(error) => Self::Read(error),
            ArchiveError::At { place, reason } => Self::field(place, reason),
            ArchiveError::TooMuch(reason) => Self::TooMuch(reason),
        }
    }
}

impl ImportError {
    /// Whether the content is not that of a known tool, as opposed to content with a mistake.
    pub fn is_of_other_content(&self) -> bool {
        matches!(self, Self::Wrapped(_) | Self::NoFormat | Self::Empty)
    }

    /// The error as a sentence about the file `name`.
    pub fn about(&self, name: &str) -> String {
        let verb = if self.is_of_other_content() { " " } else { ": " };
        format!("{name}{verb}{self}")
    }

    /// An error in `field` of line `number`.
    pub(crate) fn line(number: u64, field: &str, reason: impl Into<String>) -> Self {
        Self::field(format!("line {number}, {field}"), reason)
    }

    /// An error in the field or file part `path`.
    pub(crate) fn field(path: impl Into<String>, reason: impl Into<String>) -> Self {
        let short = |text: String| excerpt(&text).into_owned();
        Self::At { place: short(path.into()), reason: short(reason.into()) }
    }
}

/// The result of importers.
pub(crate) type Result<T> = std::result::Result<T, ImportError>;

/// Why a run cannot be exported.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The format cannot hold the run.
    #[error("{format} cannot hold {what}; {instead}")]
    NoPlace {
        /// The format.
        format: &'static str,
        /// What it cannot hold.
        what: String,
        /// What to do instead.
        instead: String,
    },
    /// The run has no such trace.
    #[error("{0}")]
    NoExcerpt(tardy_ftrace::NoExcerpt),
}
