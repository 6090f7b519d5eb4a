//! What an archive knows about a board.

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
