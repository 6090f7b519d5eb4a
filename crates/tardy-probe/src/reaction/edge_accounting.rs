//! Records each reaction, in one block per span.
//!
//! An edge whose answer came only after the next edge is missed: an instrument sees one answer for the two, and assigns
//! it to the later. This is known once the next edge has been read, so a reaction is recorded then. That is also after
//! its own answer and before the next wait.

use tardy_record::pins::{Between, Point, ReactionPlan};
use tardy_sys::ring::Ring;
use tardy_sys::shared_map::Block;
use tardy_sys::thread_usage::ThreadUsage;

use super::driven::Rise;
use super::edge_source::Edge;
use super::storm::Storm;
use crate::cells::Stage;
use crate::timer::recorder::Recorder;

/// The maximum number of spans of a plan.
const SPANS_MAX: usize = 5;
/// A reaction that has not been recorded yet.
#[derive(Clone, Copy, Debug)]
struct Reaction {
    /// When the stimulus was driven; 0 if unknown.
    driven_ns: u64,
    /// The kernel's time of the edge; the time at which the thread ran if the kernel reports none.
    edge_ns: u64,
    running_ns: u64,
    answered_ns: u64,
    number: u64,
}

/// The record of one phase.
pub(super) struct EdgeAccounting<'a> {
    recorders: [Option<Recorder<'a>>; SPANS_MAX],
    spans: &'static [Between],
    sees_edges: bool,
    counted_from_ns: u64,
    /// Edges of the counted part.
    edges: u64,
    /// How often the stimulus had been driven at the last edge.
    driven: u64,
    pending: Option<Reaction>,
    storm: Storm,
}

impl<'a> EdgeAccounting<'a> {
    /// Counts from `counted_from_ns` on in the blocks that `block` returns, one for each span of `plan`, and puts the
    /// reactions into `ring`.
    pub(super) fn new(
        plan: &ReactionPlan,
        block: impl Fn(usize) -> Block<'a>,
        ring: Option<Ring<'a>>,
        thresholds_ns: &[u64],
        counted_from_ns: u64,
    ) -> Self {
        let spans = plan.spans();
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
            sees_edges: plan.answer_by.sees_edges(),
            counted_from_ns,
            edges: 0,
            driven: 0,
            pending: None,
            storm: Storm::since(counted_from_ns),
        }
    }

    /// Records that `edge` was answered, and `rise`, the last rise of the stimulus, if a thread of tardy drives it.
    /// Returns whether edges come so fast that the measurement must end.
    #[inline(never)]
    pub(super) fn add(
        &mut self,
        mut edge: Edge,
        running_ns: u64,
        answered_ns: u64,
        rise: Option<Rise>,
    ) -> bool {
        let edge_ns = if self.sees_edges { edge.at_ns } else { running_ns };
        if let Some(rise) = rise {
            let driven = rise.count.saturating_sub(std::mem::replace(&mut self.driven, rise.count));
            // A thread that only reads levels determines from the number of rises how many edges it missed.
            if !self.sees_edges {
                (edge.since_last, edge.read) = (driven.max(1), driven.max(1));
            }
        }
        if edge_ns < self.counted_from_ns {
            return self.storm.is_one(edge.since_last, running_ns);
        }
        // Edges between the last one and the counted part do not count.
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
            self.pass_over(missed, dropped, number);
        }
        self.edges = number + 1;
        // If the stimulus rose again before the thread answered, an instrument would assign the answer to the later
        // rise.
        if rise.is_some_and(|rise| rise.count == 0 || rise.at_ns > edge_ns) {
            self.pass_over(1, 0, self.edges);
        } else {
            let driven_ns = rise.map_or(0, |rise| rise.at_ns);
            self.pending = Some(Reaction { driven_ns, edge_ns, running_ns, answered_ns, number });
        }
        self.storm.is_one(since_last, running_ns)
    }

    fn pass_over(&self, missed: u64, dropped: u64, attempted: u64) {
        self.recorders.iter().flatten().for_each(|recorder| recorder.pass_over(missed, dropped, attempted));
    }

    fn write_down(&mut self, reaction: Reaction) {
        let Reaction { driven_ns, edge_ns, running_ns, answered_ns, number } = reaction;
        let at = |point: Point| match point {
            Point::Driven => driven_ns,
            Point::Due | Point::Raised | Point::Edge => edge_ns,
            Point::Running => running_ns,
            Point::Answered | Point::Echoed => answered_ns,
        };
        for (recorder, (from, to)) in self.recorders.iter_mut().flatten().zip(self.spans) {
            let took_ns = at(*to) as i64 - at(*from) as i64;
            recorder.record_single(took_ns, answered_ns, number);
        }
    }

    /// Records the last reaction, and ends. The cost of the thread is stored with the first span.
    pub(super) fn finish(mut self, used: ThreadUsage) {
        if let Some(last) = self.pending.take() {
            self.write_down(last);
        }
        for (index, recorder) in self.recorders.iter_mut().flatten().enumerate() {
            recorder.finish(if index == 0 { used } else { ThreadUsage::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use tardy_record::pins::{AnswerBy, Line, StimulusPlan, StimulusSource};
    use tardy_record::plan::Policy;
    use tardy_sys::shared_map::SharedMap;

    use super::*;
    use crate::cells::CELLS;
    use crate::timer::reading::Cells;

    fn driven(answer_by: AnswerBy) -> ReactionPlan {
        let line = |offset| Line { chip: "gpiochip0".into(), label: "x".into(), offset, name: None };
        ReactionPlan {
            input: line(0),
            output: line(1),
            answer_by,
            cpu: 1,
            policy: Policy::Fifo,
            priority: 90,
            memory_locked: true,
            dma_latency_us: None,
            stimulus: Some(Box::new(StimulusPlan {
                source: StimulusSource::Line { line: line(3), cpu: 0 },
                period_ns: 1000,
                dither_ns: 0,
                echo: None,
            })),
        }
    }

    const LOOKED: Edge = Edge { since_last: 1, read: 1, first_ns: 0, at_ns: 0 };

    /// Attempted, recorded, missed and highest of the span from rise to answer, for reactions given as running,
    /// answered and rise.
    fn accounted(plan: &ReactionPlan, reactions: &[(Edge, u64, u64, Rise)]) -> (u64, u64, u64, Option<i64>) {
        let directory = tempfile::tempdir().unwrap();
        let map = SharedMap::create(&directory.path().join("map"), SPANS_MAX, CELLS).unwrap();
        let mut accounting = EdgeAccounting::new(plan, |index| map.block(index), None, &[], 100);
        for (edge, running_ns, answered_ns, rise) in reactions {
            accounting.add(*edge, *running_ns, *answered_ns, Some(*rise));
        }
        accounting.finish(ThreadUsage::default());
        let mut copy = Vec::new();
        assert!(map.block(0).read(&mut copy));
        let cells = Cells(&copy);
        (cells.attempted(), cells.recorded(), cells.missed(), cells.max_ns())
    }

    #[test]
    fn a_thread_that_only_reads_levels_counts_missed_edges_by_the_stimulus() {
        let rise = |count, at_ns| Rise { count, at_ns };
        let seen = [
            (LOOKED, 1050, 1060, rise(3, 1000)),
            (LOOKED, 2050, 2090, rise(4, 2000)),
            (LOOKED, 5050, 5060, rise(7, 5000)),
        ];
        let accounted = accounted(&driven(AnswerBy::Busy), &seen);
        assert_eq!(accounted, (5, 3, 2, Some(90)), "earlier rises do not count");
    }

    #[test]
    fn an_answer_after_the_next_rise_is_missed() {
        let edge = |number: u64| Edge { at_ns: number * 1000 + 20, first_ns: number * 1000 + 20, ..LOOKED };
        let rise = |count: u64| Rise { count, at_ns: count * 1000 };
        let answered =
            [(edge(1), 1050, 1060, rise(1)), (edge(2), 2050, 3005, rise(3)), (edge(3), 3050, 3060, rise(3))];
        assert_eq!(accounted(&driven(AnswerBy::Events), &answered), (3, 2, 1, Some(60)));
    }
}
