//! What the thread writes down of each reaction, into one block for each span.
//!
//! An edge whose answer came only after the next edge is missed: an instrument sees one answer for the two, and gives it to
//! the later. Whether that is so is known once the next edge has been read, so a reaction is written down then, which is
//! also after its own answer and before the next wait.

use tardy_record::pins::{AnswerBy, Point};
use tardy_sys::ring::Ring;
use tardy_sys::shared_map::Block;
use tardy_sys::thread_usage::ThreadUsage;

use super::inlet::Edge;
use super::storm::Storm;
use crate::probe::cells::Stage;
use crate::probe::timer::recorder::Recorder;

/// No way of answering has more spans.
const SPANS_MAX: usize = 3;
/// A reaction that waits to be written down.
#[derive(Clone, Copy, Debug)]
struct Reaction {
    edge_ns: u64,
    running_ns: u64,
    answered_ns: u64,
    number: u64,
}

/// The book of one phase.
pub(super) struct Book<'a> {
    recorders: [Option<Recorder<'a>>; SPANS_MAX],
    spans: &'static [(Point, Point)],
    sees_edges: bool,
    counted_from_ns: u64,
    /// Edges of the counted part.
    edges: u64,
    pending: Option<Reaction>,
    storm: Storm,
}

impl<'a> Book<'a> {
    /// A book that counts from `counted_from_ns` in the blocks that `block` gives, one for each span of `answer_by`, and
    /// hands the reactions over in `ring`.
    pub(super) fn new(
        answer_by: AnswerBy,
        block: impl Fn(usize) -> Block<'a>,
        ring: Option<Ring<'a>>,
        thresholds_ns: &[u64],
        counted_from_ns: u64,
    ) -> Self {
        let spans = answer_by.spans();
        let mut recorders = [const { None }; SPANS_MAX];
        for (index, slot) in recorders.iter_mut().take(spans.len()).enumerate() {
            let recorder = Recorder::new(block(index), 0, thresholds_ns, counted_from_ns);
            let recorder = recorder.with_samples(ring.filter(|_| index == 0));
            recorder.set_stage(Stage::Counting);
            *slot = Some(recorder);
        }
        Self {
            recorders,
            spans,
            sees_edges: spans.iter().any(|(from, _)| *from == Point::Edge),
            counted_from_ns,
            edges: 0,
            pending: None,
            storm: Storm::since(counted_from_ns),
        }
    }

    /// Notes that `edge` was answered. Whether edges come so fast that it must end.
    #[inline(never)]
    pub(super) fn add(&mut self, edge: Edge, running_ns: u64, answered_ns: u64) -> bool {
        let edge_ns = if self.sees_edges { edge.at_ns } else { running_ns };
        if edge_ns < self.counted_from_ns {
            return self.storm.is_one(edge.since_last, running_ns);
        }
        // What came in between and before the counted part is nobody's.
        let (since_last, read) = if self.edges == 0 { (1, 1) } else { (edge.since_last.max(1), edge.read) };
        let mut missed = read.min(since_last) - 1;
        let dropped = since_last - 1 - missed;
        if let Some(before) = self.pending.take() {
            if self.sees_edges && edge.first_ns < before.answered_ns {
                missed += 1;
            } else {
                self.write_down(before);
            }
        }
        let number = self.edges + since_last - 1;
        if missed + dropped > 0 {
            self.recorders.iter().flatten().for_each(|recorder| recorder.pass_over(missed, dropped, number));
        }
        self.edges = number + 1;
        self.pending = Some(Reaction { edge_ns, running_ns, answered_ns, number });
        self.storm.is_one(since_last, running_ns)
    }

    fn write_down(&mut self, reaction: Reaction) {
        let Reaction { edge_ns, running_ns, answered_ns, number } = reaction;
        let at = |point: Point| match point {
            Point::Due | Point::Raised | Point::Edge => edge_ns,
            Point::Running => running_ns,
            Point::Answered => answered_ns,
        };
        for (recorder, (from, to)) in self.recorders.iter_mut().flatten().zip(self.spans) {
            let took_ns = at(*to) as i64 - at(*from) as i64;
            recorder.record_single(took_ns, answered_ns, number);
        }
    }

    /// Writes down what waits, and closes the book. What the thread cost is the first span's.
    pub(super) fn finish(mut self, used: ThreadUsage) {
        if let Some(last) = self.pending.take() {
            self.write_down(last);
        }
        for (index, recorder) in self.recorders.iter_mut().flatten().enumerate() {
            recorder.finish(if index == 0 { used } else { ThreadUsage::default() });
        }
    }
}
