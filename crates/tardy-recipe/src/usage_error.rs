//! Wrong use of the command line or of a recipe. It ends a command with status 2.

use std::fmt::Display;

use thiserror::Error;

/// An error in an option.
#[derive(Debug, Error)]
#[error("{key}: {reason}")]
pub struct UsageError {
    /// The option's recipe key, with underscores. The flag has dashes instead.
    pub key: &'static str,
    /// What is wrong and what is expected.
    pub reason: String,
}

/// The error for the option `key`, with the message `reason`.
pub fn wrong(key: &'static str, reason: impl Display) -> UsageError {
    UsageError { key, reason: reason.to_string() }
}
