//! The audit log of an archive: who pushed, deleted, changed the state of an alert, made or revoked a token.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::ArchiveError;
use crate::log::Log;

const FILE: &str = "audit.jsonl";

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// A run was pushed to the server.
    Pushed,
    /// A run was pushed that the archive had.
    PushedAgain,
    /// A run was deleted.
    Deleted,
    /// The state of an alert was set.
    StateSet,
    /// A token was made.
    TokenMade,
    /// A token was revoked.
    TokenRevoked,
}

/// A line of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    /// When, in RFC 3339, UTC.
    pub at: String,
    /// Who: the name of a token, or the user who ran a command.
    pub who: String,
    /// What was done.
    pub action: Action,
    /// To what: the address of a run, an alert, the name of a token.
    pub subject: String,
    /// Why, or how; empty if there is nothing to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// An open audit log.
#[derive(Debug)]
pub struct Audit(Log);

impl Audit {
    /// Opens the audit log of the archive at `archive`.
    ///
    /// # Errors
    /// If the file system does not permit it.
    pub fn open(archive: &Path) -> Result<Self, ArchiveError> {
        Log::open::<AuditLine>(archive, FILE).map(|(log, _)| Self(log))
    }

    /// The audit log of an archive that may only be read: adding to it fails.
    ///
    /// # Errors
    /// If the log is damaged.
    pub fn open_to_read(archive: &Path) -> Result<Self, ArchiveError> {
        Log::open_to_read::<AuditLine>(archive, FILE).map(|(log, _)| Self(log))
    }

    /// Adds lines, and returns when they are on the disk.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn add(&mut self, lines: &[AuditLine]) -> Result<(), ArchiveError> {
        self.0.add(lines)
    }

    /// The lines of the audit log of the archive at `archive`, the oldest first.
    ///
    /// # Errors
    /// If the log is damaged.
    pub fn read(archive: &Path) -> Result<Vec<AuditLine>, ArchiveError> {
        Log::read(archive, FILE)
    }
}
