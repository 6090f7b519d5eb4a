//! Why a server does not start.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use tardy_archive::ArchiveError;

/// Why the server does not start.
#[derive(Debug)]
pub enum ServeError {
    /// The archive cannot be used.
    Archive(ArchiveError),
    /// Another server has it.
    Served(PathBuf),
    /// The address cannot be listened on.
    Listen(SocketAddr, std::io::Error),
    /// The system has no resources for it.
    System(std::io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(error) => error.fmt(f),
            Self::Served(archive) => {
                write!(f, "another server has the archive {}; end that one first", archive.display())
            }
            Self::Listen(address, error) => {
                write!(f, "cannot listen on {address}: {error}; choose another address with --listen")
            }
            Self::System(error) => write!(f, "cannot start the server: {error}"),
        }
    }
}

impl std::error::Error for ServeError {}

impl From<ArchiveError> for ServeError {
    fn from(error: ArchiveError) -> Self {
        Self::Archive(error)
    }
}
