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
    /// Whether the option is right, but this machine lacks what it needs.
    pub machine_lacks: bool,
}

/// The error for the option `key`, with the message `reason`.
pub fn wrong(key: &'static str, reason: impl Display) -> UsageError {
    UsageError { key, reason: reason.to_string(), machine_lacks: false }
}

/// The error for the option `key` on a machine that lacks what it needs, with the message `reason`.
pub(crate) fn lacking(key: &'static str, reason: impl Display) -> UsageError {
    UsageError { machine_lacks: true, ..wrong(key, reason) }
}
