//! Kernel settings that tardy changes temporarily, each with a guard that restores it.

mod changed;
mod replaced_file;
mod thread_rank;

use crate::journal::{Kind, read};

pub use changed::Changed;
pub use replaced_file::ReplacedFile;
pub use thread_rank::{INTERRUPT_THREADS, Rank, TIMER_THREADS, ThreadRank};

/// How to undo a [`ReplacedFile`].
pub const REPLACED_FILE: Kind = Kind { name: "file", read: read::<ReplacedFile>, first: false };
/// How to undo a [`ThreadRank`].
pub const THREAD_RANK: Kind = Kind { name: "thread", read: read::<ThreadRank>, first: false };
/// All kernel settings. If a crash leaves one changed, the next measurement is not comparable.
pub const KINDS: [Kind; 2] = [REPLACED_FILE, THREAD_RANK];
