//! Jitter and holes of a signal that toggles regularly. The reference is the median of a block of edges, which removes a
//! slow drift of either clock.
//!
//! Rejected alternative: the distances from a grid fitted to the edges. A program that waits for deadlines stays on a
//! grid. A busy loop does not: each hole shifts all later edges, so that their distances from the grid are meaningless.

use tardy_record::capture::Edge;
use tardy_record::gaps::{Gap, GapKeeper, KeptGaps};
use tardy_record::series_builder::{Reading, SeriesBuilder};

use super::TimeBase;

/// Edges per block.
const BLOCK: usize = 2048;
/// The fewest edges for a median.
const BLOCK_MIN: usize = 32;
/// A width is usual if it differs from its median by at most the median divided by this number.
const USUAL_PART: u64 = 4;
/// An edge is overdue if a width exceeds its median by more than the median divided by this number.
const OVERDUE_PART: u64 = 2;
/// A block is regular if at least this share of its widths is usual, in tenths.
const REGULAR_TENTHS: usize = 9;
/// The time span that each kept window of holes covers, in ns.
const STRETCHES_NS: u64 = 16 * 60 * 1_000_000_000;

/// The medians of a block, in ticks.
#[derive(Clone, Copy, Debug)]
struct Usual {
    /// The median of the widths that begin with an odd edge (first, third, …), and of the others.
    widths: [u64; 2],
    /// The median of the distances from one edge of the counted direction to the next.
    period: u64,
}

/// Collects edges in blocks.
#[derive(Debug)]
pub(super) struct Blocks {
    edge: Edge,
    /// The times of the edges, which alternate, in ticks.
    edges: Vec<u64>,
    /// The direction of the first edge.
    first: Edge,
    /// Whether the first two edges are the last of the previous block, which has counted the width between them.
    goes_on: bool,
    /// The medians of the previous block, if it was regular.
    usual: Option<Usual>,
    jitter: SeriesBuilder,
    holes: SeriesBuilder,
    keeper: GapKeeper,
    regular: u64,
    irregular: u64,
    /// A buffer for medians, kept to avoid allocations.
    sorted: Vec<u64>,
}

impl Blocks {
    pub(super) fn new(edge: Edge) -> Self {
        Self {
            edge,
            edges: Vec::with_capacity(BLOCK),
            first: edge,
            goes_on: false,
            usual: None,
            jitter: SeriesBuilder::new(0, None, 0, &[]),
            holes: SeriesBuilder::new(0, None, 0, &[]),
            keeper: GapKeeper::new(STRETCHES_NS),
            regular: 0,
            irregular: 0,
            sorted: Vec::with_capacity(BLOCK),
        }
    }

    #[inline]
    pub(super) fn edge(&mut self, at: u64, edge: Edge, time: &TimeBase) {
        if self.edges.is_empty() {
            self.first = edge;
        }
        self.edges.push(at);
        if self.edges.len() == BLOCK {
            self.judge(time);
            // The next block begins with the last two edges of this one, so that no width and no period is missed.
            self.edges.drain(..BLOCK - 2);
            self.goes_on = true;
        }
    }

    /// Ends the block, since the level is unknown from here on.
    pub(super) fn interrupt(&mut self, time: &TimeBase) {
        self.judge(time);
        self.edges.clear();
        (self.goes_on, self.usual) = (false, None);
    }

    /// Computes the medians of the collected edges, and their jitter and holes.
    fn judge(&mut self, time: &TimeBase) {
        let known = if self.goes_on { 2 } else { 0 };
        if self.edges.len() <= known {
            return;
        }
        if self.edges.len() >= BLOCK_MIN {
            self.usual = self.usual_now();
            match self.usual {
                Some(_) => self.regular += 1,
                None => self.irregular += 1,
            }
        }
        // The few edges after the last whole block are compared with its medians.
        let Some(usual) = self.usual else { return };
        self.find_holes(&usual, time);
        self.find_jitter(&usual, time);
    }

    /// The medians of the edges. `None` if they are not regular.
    fn usual_now(&mut self) -> Option<Usual> {
        let offset = usize::from(self.first != self.edge);
        let widths = [self.median(0, 1)?, self.median(1, 1)?];
        let usual = Usual { widths, period: self.median(offset, 2)? };
        let is_usual = |(index, pair): &(usize, &[u64])| {
            let (width, median) = (pair[1] - pair[0], widths[index % 2]);
            width.abs_diff(median) <= (median / USUAL_PART).max(1)
        };
        let count = self.edges.windows(2).enumerate().filter(is_usual).count();
        (count * 10 >= (self.edges.len() - 1) * REGULAR_TENTHS).then_some(usual)
    }

    /// The median of the distances between every second edge from `from` on and the edge `apart` later.
    fn median(&mut self, from: usize, apart: usize) -> Option<u64> {
        self.sorted.clear();
        let later = self.edges.iter().skip(from + apart).step_by(2);
        let earlier = self.edges.iter().skip(from).step_by(2);
        self.sorted.extend(later.zip(earlier).map(|(later, earlier)| later - earlier));
        let middle = self.sorted.len() / 2;
        (!self.sorted.is_empty()).then(|| *self.sorted.select_nth_unstable(middle).1)
    }

    fn find_holes(&mut self, usual: &Usual, time: &TimeBase) {
        for (index, pair) in self.edges.windows(2).enumerate().skip(usize::from(self.goes_on)) {
            let (width, median) = (pair[1] - pair[0], usual.widths[index % 2]);
            if width <= median.saturating_add((median / OVERDUE_PART).max(2)) {
                continue;
            }
            // The hole begins when the edge was due.
            let (at_ns, length_ns) = (time.ns(pair[0] + median), time.ns(width - median));
            let cycle = self.holes.recorded();
            let reading = Reading { value_ns: length_ns as i64, at_ns, cycle, missed: 0 };
            self.holes.record(reading);
            self.keeper.add(Gap { at_ns, length_ns });
        }
    }

    fn find_jitter(&mut self, usual: &Usual, time: &TimeBase) {
        let offset = usize::from(self.first != self.edge);
        for pair in self.edges[offset.min(self.edges.len())..].windows(3).step_by(2) {
            let period = pair[2] - pair[0];
            let off_ns = time.ns(period.abs_diff(usual.period)) as i64;
            let value_ns = if period < usual.period { -off_ns } else { off_ns };
            let cycle = self.jitter.recorded();
            self.jitter.record(Reading { value_ns, at_ns: time.ns(pair[2]), cycle, missed: 0 });
        }
    }

    /// The jitter and the holes. `None` if no block was regular.
    pub(super) fn found(&self) -> Option<(&SeriesBuilder, &SeriesBuilder, KeptGaps)> {
        (self.regular > 0).then(|| (&self.jitter, &self.holes, self.keeper.kept()))
    }

    /// Remarks for the reader.
    pub(super) fn remark(&self, name: &str) -> Option<String> {
        let all = self.regular + self.irregular;
        if self.irregular == 0 {
            return (all == 0).then(|| {
                format!(
                    "{name} has too few edges to recognise a regular signal: jitter and holes were not computed"
                )
            });
        }
        Some(if self.regular == 0 {
            format!("{name} is not a regular signal: jitter and holes were not computed")
        } else {
            format!(
                "{name} is regular only in part: jitter and holes cover {} of {all} blocks of {BLOCK} edges",
                self.regular
            )
        })
    }
}
