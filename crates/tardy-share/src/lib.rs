//! Links that hold a run, or a comparison of up to four, or a switch file.
//!
//! The part of a link behind the `#` never leaves the reader's machine, so no server stores a run, or sees one. A link is made in
//! three steps: [`reduced()`] leaves out what the first screen of a report does not need, `compact.rs` writes histograms in few
//! characters, [`link`] compresses the text against a dictionary that both sides have, and adds a length and a check sum.
//! Reading is the reverse. A link is untrusted: its length, its expansion and everything in its runs are checked.

mod compact;
mod compression;
pub mod link;
mod reduction;
mod sharing;
mod thinning;

pub use link::{LinkError, RUNS_MAX};
pub use reduction::{Reduced, reduced};
pub use sharing::{ShareError, Shared, shared};
