//! Detects edges that come so fast that the machine is busy only with their interrupts.

/// Edges that come faster than this, on average over `STORM_EDGES`, are a storm: a board spends all its time on their
/// interrupts. A floating pin or a ringing wire causes millions of edges per second.
pub const STORM_PER_SECOND: u64 = 100_000;
/// The number of edges that the average covers.
const STORM_EDGES: u64 = 20_000;

/// The rate of edges.
#[derive(Clone, Copy, Debug)]
pub struct Storm {
    from_ns: u64,
    edges: u64,
}

impl Storm {
    /// No edges yet, from `from_ns` on.
    pub fn since(from_ns: u64) -> Self {
        Self { from_ns, edges: 0 }
    }

    /// Counts `edges` more, of which the last came at `now_ns`. Returns whether they are a storm.
    pub fn is_one(&mut self, edges: u64, now_ns: u64) -> bool {
        self.edges += edges;
        if self.edges < STORM_EDGES {
            return false;
        }
        let took_ns = now_ns.saturating_sub(self.from_ns);
        let is_one = took_ns < self.edges * (1_000_000_000 / STORM_PER_SECOND);
        *self = Self::since(now_ns);
        is_one
    }
}
