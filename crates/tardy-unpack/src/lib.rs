//! Compressed files, tar archives, zip archives, JSON and XML, read as streams in bounded memory.
//!
//! The content is untrusted: it may be cut off, damaged, or unpack to more than any disk holds.

mod content;
mod error;
pub mod json;
mod read_more;
pub mod xml;
mod zip;

pub use content::{Content, MEMBER_MAX, Member, Tar};
pub use error::ArchiveError;
pub use read_more::read_more;
pub use zip::{End, Member as ZipMember, Zip};
