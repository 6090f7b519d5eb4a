//! The highest value of each block of time, for the timeline and for extreme value statistics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many blocks a series keeps; when full, neighbours merge and a block lasts twice as long.
pub const BLOCK_COUNT: usize = 4096;

/// How long a block lasts at first, in ns; it doubles whenever [`BLOCK_COUNT`] of them are full.
pub const BLOCK_NS: u64 = 100_000_000;

/// Block maxima of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockMaxima {
    /// Where the first block begins, in ns from the start of the run.
    pub start_ns: u64,
    /// How long a block lasts; the last one may have been cut short.
    pub block_ns: u64,
    /// The highest value of each; absent where nothing was recorded in the block.
    pub maxima_ns: Vec<Option<i64>>,
}
