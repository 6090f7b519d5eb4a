//! Wrong use of the command line or of a recipe. It ends a command with status 2.

use std::fmt::Display;

use thiserror::Error;

/// What is wrong with an option.
#[derive(Debug, Error)]
#[error("{key}: {reason}")]
pub(crate) struct UsageError {
    /// The option as recipes write it; a flag has dashes.
    pub(crate) key: &'static str,
    /// What is wrong and what is expected.
    pub(crate) reason: String,
}

/// The error `reason` of the option `key`.
pub(crate) fn wrong(key: &'static str, reason: impl Display) -> UsageError {
    UsageError { key, reason: reason.to_string() }
}
