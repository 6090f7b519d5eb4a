//! How the server was asked to work.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

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
    /// Whether it may write into the archive. If not, it shows what is there, and nothing can be pushed, deleted or set.
    pub may_write: bool,
    /// The program, for pages.
    pub made_by: String,
}

/// What senders may take. Tests permit less.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// Connections at a time.
    pub(crate) connections: usize,
    /// Connections of one address at a time.
    pub(crate) connections_of_one: usize,
    /// How long the headers of a request may take.
    pub(crate) headers_within: Duration,
    /// How long its content may take.
    pub(crate) content_within: Duration,
    /// How long a sender may send or read nothing of what is expected.
    pub(crate) stall_within: Duration,
    /// How long a page may take to be made, and to be begun.
    pub(crate) page_within: Duration,
    /// Whether a request is answered whose sender has ended its side of the connection. Work for one that has left stops otherwise.
    pub(crate) answers_after_end: bool,
}

impl Default for Allowed {
    fn default() -> Self {
        Self {
            connections: 512,
            connections_of_one: 256,
            headers_within: Duration::from_secs(10),
            content_within: Duration::from_secs(120),
            stall_within: Duration::from_secs(30),
            page_within: Duration::from_secs(30),
            answers_after_end: false,
        }
    }
}
