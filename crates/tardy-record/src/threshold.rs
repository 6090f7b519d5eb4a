//! What went over a declared threshold, with what later statistics need: clusters and dispersion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Exceedances with at most this many cycles between them are one episode.
pub const CLUSTER_GAP_CYCLES: u64 = 10;
/// Length of the blocks over which exceedances are counted for their dispersion, in ns.
pub const THRESHOLD_BLOCK_NS: u64 = 1_000_000_000;

/// Exceedances of one threshold. Dependence between them is judged from `clusters` and from the dispersion of the
/// counts per block: Var(k)/mean(k) over the blocks (the Fano factor).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdCount {
    /// The threshold: what counts is a value above it.
    pub limit_ns: u64,
    /// Recorded values above it.
    pub measured: u64,
    /// The same with missed periods filled in; absent where there is no schedule.
    pub corrected: Option<u64>,
    /// Episodes: exceedances with at most `cluster_gap_cycles` cycles between them are one.
    pub clusters: u64,
    /// Longest gap within an episode, in cycles.
    pub cluster_gap_cycles: u64,
    /// Sum over all blocks of the squared count of exceedances (corrected where there is a schedule).
    pub sum_of_squared_block_counts: u64,
    /// How many blocks have passed.
    pub blocks: u64,
    /// How long a block lasts.
    pub block_ns: u64,
}
