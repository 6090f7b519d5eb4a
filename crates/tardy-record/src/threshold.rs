//! Exceedances of a declared threshold, with their clusters and their dispersion for statistics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Exceedances with at most this many cycles between them belong to one episode.
pub const CLUSTER_GAP_CYCLES: u64 = 10;
/// Length of the blocks over which exceedances are counted for their dispersion, in ns.
pub const THRESHOLD_BLOCK_NS: u64 = 1_000_000_000;

/// Exceedances of one threshold. Their dependence is judged from `clusters` and from the dispersion of the counts per
/// block: Var(k)/mean(k) over the blocks (the Fano factor).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdCount {
    /// The threshold; a value above it is an exceedance.
    pub limit_ns: u64,
    /// Recorded values above it.
    pub measured: u64,
    /// The same including missed periods; absent without a schedule.
    pub corrected: Option<u64>,
    /// Episodes: exceedances with at most `cluster_gap_cycles` cycles between them belong to one.
    pub clusters: u64,
    /// Longest gap within an episode, in cycles.
    pub cluster_gap_cycles: u64,
    /// Sum over all blocks of the squared count of exceedances (corrected if there is a schedule).
    pub sum_of_squared_block_counts: u64,
    /// The number of blocks.
    pub blocks: u64,
    /// The length of a block.
    pub block_ns: u64,
}
