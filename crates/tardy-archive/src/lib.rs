//! Archives of runs: directories that keep run files, find them, and notice when one is damaged.
//!
//! The run files are the archive. Each is compressed, is named for the SHA-256 of its content, and never changes. The index is an
//! SQLite database that is made from the files and can be made again at any time (docs/adr/0033-the-archive.md).
//!
//! Without the feature `database` there is no SQLite: run files of an archive can be read, and searched one by one.

mod address;
#[cfg(feature = "database")]
mod archive;
#[cfg(feature = "database")]
mod audit;
#[cfg(feature = "database")]
mod board;
mod day;
mod entry;
#[cfg(feature = "database")]
mod error;
#[cfg(feature = "database")]
mod index;
#[cfg(feature = "database")]
mod keep;
mod kernel_version;
#[cfg(feature = "database")]
mod layout;
#[cfg(feature = "database")]
mod log;
#[cfg(feature = "database")]
mod parallel;
mod query;
#[cfg(feature = "database")]
mod store;
mod stored;
#[cfg(feature = "database")]
mod verify;

pub use address::{Address, MARKER, sha256};
#[cfg(feature = "database")]
pub use archive::Archive;
#[cfg(feature = "database")]
pub use audit::{Action, Audit, AuditLine};
#[cfg(feature = "database")]
pub use board::{BoardRuns, Mark};
pub use day::Day;
pub use entry::{Entry, Outcome, config_digest, loads};
#[cfg(feature = "database")]
pub use error::ArchiveError;
#[cfg(feature = "database")]
pub use keep::{Candidate, Kept, NewFile};
pub use kernel_version::{KernelRange, KernelVersion};
#[cfg(feature = "database")]
pub use log::{Log, RECORDS, records_directory};
pub use query::{ConfigOption, Query, contains, is_load};
#[cfg(feature = "database")]
pub use store::Store;
pub use stored::{Stored, is_compressed, read_compressed, read_compressed_up_to, write_compressed};
#[cfg(feature = "database")]
pub use verify::Damage;
