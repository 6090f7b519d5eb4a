//! Archives of runs: directories that keep run files, find them, and notice when one is damaged.
//!
//! The run files are the archive. Each is compressed, is named for the SHA-256 of its content, and never changes. The index is an
//! SQLite database that is made from the files and can be made again at any time (docs/adr/0033-the-archive.md).

mod address;
mod archive;
mod entry;
mod error;
mod index;
mod keep;
mod kernel_version;
mod query;
mod stored;
mod verify;

pub use address::Address;
pub use archive::{Archive, MARKER};
pub use entry::{Entry, Outcome};
pub use error::ArchiveError;
pub use keep::{Keeper, Kept, Outcomes};
pub use kernel_version::{KernelRange, KernelVersion};
pub use query::{ConfigOption, Day, Query};
pub use stored::{Stored, is_compressed, read_compressed};
pub use verify::Damage;
