//! The fake: edges generated from a seed, without waiting. One comes about every ms and is answered after some us. A
//! few answers come after the next edge, and the queue loses some edges.

use super::driven::Rise;
use super::edge_source::Edge;

const PERIOD_NS: u64 = 1_000_000;
const LATE_NS: u64 = 1_400_000;

/// Generates reactions in the order of time.
pub(super) struct FakeReactions {
    at_ns: u64,
    count: u64,
    state: u64,
    counts_edges: bool,
}

/// From the stimulus to the edge's time stamp.
pub(super) const INTERRUPT_NS: u64 = 1_300;
/// From the answer to its time stamp when it is read back.
pub(super) const ECHO_NS: u64 = 1_100;

/// A synthetic reaction.
pub(super) struct FakeReaction {
    pub(super) edge: Edge,
    pub(super) running_ns: u64,
    pub(super) answered_ns: u64,
    pub(super) rise: Rise,
}

impl FakeReactions {
    /// Edges from `start_ns` on, from this seed. `counts_edges`: the thread receives the edges' numbers.
    pub(super) fn new(start_ns: u64, seed: u64, counts_edges: bool) -> Self {
        Self { at_ns: start_ns, count: 0, state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, counts_edges }
    }

    /// The next reaction.
    pub(super) fn next(&mut self) -> FakeReaction {
        let spread = self.random();
        self.count += 1;
        let lost = if self.count.is_multiple_of(997) { 2 } else { 0 };
        self.at_ns += (1 + lost) * PERIOD_NS + spread % 20_000;
        let late_ns = if self.count.is_multiple_of(500) { LATE_NS } else { 9_000 + spread % 4_000 };
        let running_ns = self.at_ns + late_ns;
        let since_last = if self.counts_edges { 1 + lost } else { 1 };
        let edge = Edge { since_last, read: 1, first_ns: self.at_ns, at_ns: self.at_ns };
        // The stimulus has risen again before an answer that is so late.
        let overtaken = late_ns >= PERIOD_NS;
        let since_ns = if overtaken { PERIOD_NS } else { 0 };
        let rise =
            Rise { count: self.count + u64::from(overtaken), at_ns: self.at_ns + since_ns - INTERRUPT_NS };
        FakeReaction { edge, running_ns, answered_ns: running_ns + 1_800 + spread % 300, rise }
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 16
    }
}
