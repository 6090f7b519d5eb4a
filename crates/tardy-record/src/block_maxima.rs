//! The highest value of each block of time, for the timeline and for extreme value statistics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum number of blocks of a series. When it is reached, neighbours merge and a block lasts twice as long.
pub const BLOCK_COUNT: usize = 4096;

/// The initial length of a block, in ns; it doubles whenever [`BLOCK_COUNT`] blocks are full.
pub const BLOCK_NS: u64 = 100_000_000;

/// Block maxima of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockMaxima {
    /// When the first block begins, in ns from the start of the run.
    pub start_ns: u64,
    /// The length of a block, in ns; the last one may be shorter.
    pub block_ns: u64,
    /// The highest value of each block; absent if nothing was recorded in the block.
    pub maxima_ns: Vec<Option<i64>>,
}
