//! How the server was asked to work.

use std::net::SocketAddr;
use std::path::PathBuf;

use tardy_archive::{ArchiveError, Store};

/// Opens the archive. Requests open it for themselves, so that an index that is made again is noticed.
pub type OpenStore = Box<dyn Fn() -> Result<Box<dyn Store>, ArchiveError> + Send + Sync>;

/// Who may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Anyone who reaches the server.
    Anyone,
    /// Holders of a token with the scope `read`.
    Tokens,
}

/// How the server was asked to work.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory that has the archive's records: tokens, alerts, the audit log.
    pub archive: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The names by which it may be asked, besides `localhost` and addresses in numbers.
    pub names: Vec<String>,
    /// Who may read.
    pub reading: Reading,
    /// The program, for pages.
    pub made_by: String,
}
