//! What pages ask of an archive: its boards, and what was added.

use crate::{Address, Entry};

/// The runs of a board.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardRuns {
    /// The name of the machine and its board, as in [`Entry::machine`]; empty if both are unknown.
    pub machine: String,
    /// The number of its runs, 1 or more.
    pub runs: u64,
    /// The run that started last.
    pub newest: (Address, Entry),
}

/// A place in the order in which runs were added to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The store, or its index. One that was made again is another one.
    pub store: String,
    /// The number of the last run.
    pub sequence: u64,
}
