//! Reactions on the wire, from the log of the chip that generates the stimulus. One series measures from the time at
//! which the stimulus was due to the answer, the other from the actual rise. The second is compared with the thread's
//! measurement edge by edge.

use std::collections::VecDeque;

use tardy_record::Series;
use tardy_record::pins::{AGREEING_NS, Agreement, Point, ReactionPlan, ReactionSeries};
use tardy_record::series::{Level, Quantity, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_sys::pins_log::Rise;

use tardy_probe::order::Granted;
use tardy_probe::sample_ring::Sample;

/// The points at which the wire's series begin; both end with the answer.
const FROM: [Point; 2] = [Point::Due, Point::Raised];
/// Limit on answers that wait for a comparison, for a thread that reports no reactions.
const WAITING_MAX: usize = 1 << 17;

/// The wire's series of one phase.
pub(super) struct WireSeries {
    builders: [SeriesBuilder; 2],
    counted_from_ns: u64,
    run_start_ns: u64,
    /// Number of the first rise of the counted part.
    first_number: Option<u64>,
    next_number: Option<u64>,
    /// Rises since the last answer. They count only if another answer follows, since the end of the phase may have come
    /// first.
    unanswered: u64,
    lost: u64,
    answers: VecDeque<Answer>,
    agreement: Agreement,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    raised_ns: u64,
    answered_ns: u64,
    /// Whether the previous rise was not answered. The answer may then belong to that rise.
    follows_unanswered: bool,
}

impl WireSeries {
    /// Series from `counted_from_ns` on, for a run that started at `run_start_ns`, both on the monotonic clock.
    pub(super) fn new(
        counted_from_ns: u64,
        run_start_ns: u64,
        planned_ns: u64,
        thresholds_ns: &[u64],
    ) -> Self {
        let start_ns = counted_from_ns.saturating_sub(run_start_ns);
        let builder = || SeriesBuilder::new(start_ns, None, planned_ns, thresholds_ns);
        Self {
            builders: [builder(), builder()],
            counted_from_ns,
            run_start_ns,
            first_number: None,
            next_number: None,
            unanswered: 0,
            lost: 0,
            answers: VecDeque::new(),
            agreement: Agreement::default(),
        }
    }

    /// Adds the next rise of the log.
    pub(super) fn rise(&mut self, rise: Rise) {
        if rise.raised_ns < self.counted_from_ns {
            return;
        }
        let first_number = *self.first_number.get_or_insert(rise.number);
        self.lost += rise.number.saturating_sub(self.next_number.unwrap_or(rise.number));
        self.next_number = Some(rise.number + 1);
        let Some(answered_ns) = rise.answered_ns else {
            self.unanswered += 1;
            return;
        };
        if self.answers.len() < WAITING_MAX {
            let follows_unanswered = self.unanswered + self.lost > 0;
            self.answers.push_back(Answer { raised_ns: rise.raised_ns, answered_ns, follows_unanswered });
        }
        let (missed, dropped) = (std::mem::take(&mut self.unanswered), std::mem::take(&mut self.lost));
        for (builder, from_ns) in self.builders.iter_mut().zip([rise.due_ns, rise.raised_ns]) {
            builder.miss_readings(missed);
            builder.drop_readings(dropped);
            builder.record(Reading {
                value_ns: answered_ns as i64 - from_ns as i64,
                at_ns: answered_ns.saturating_sub(self.run_start_ns),
                cycle: rise.number - first_number,
                missed: 0,
            });
        }
    }

    /// Compares the thread's measurement of one edge with the log, which must have been read up to that edge. Call it
    /// in the order of time.
    pub(super) fn compare(&mut self, sample: Sample) {
        let edge_ns = sample.at_ns.saturating_add_signed(-sample.late_ns);
        if edge_ns < self.counted_from_ns {
            return;
        }
        while self.answers.get(1).is_some_and(|next| next.raised_ns <= edge_ns) {
            self.answers.pop_front();
        }
        let Some(answer) = self.answers.front().copied().filter(|answer| answer.raised_ns <= edge_ns) else {
            self.agreement.unmatched += 1;
            return;
        };
        self.answers.pop_front();
        if !answer.follows_unanswered {
            let on_the_wire_ns = answer.answered_ns as i64 - answer.raised_ns as i64;
            let difference_ns = (on_the_wire_ns - sample.late_ns).unsigned_abs();
            self.agreement.compared += 1;
            self.agreement.agreeing += u64::from(difference_ns <= AGREEING_NS);
            self.agreement.highest_difference_ns = self.agreement.highest_difference_ns.max(difference_ns);
        }
    }

    /// The series of phase `phase` so far.
    pub(super) fn series(&self, phase: usize, plan: &ReactionPlan, granted: Granted) -> Vec<Series> {
        let one = |(builder, from): (&SeriesBuilder, Point)| {
            // If tardy drives the stimulus, the thread's times begin with the write, which precedes the rise in the
            // log.
            let compared = from == Point::Raised && plan.answer_by.sees_edges() && plan.driven().is_none();
            let kind = ReactionSeries {
                from,
                to: Point::Answered,
                answer_by: plan.answer_by,
                cpu: plan.cpu,
                policy: granted.policy,
                priority: granted.priority,
                beside: from != Point::Due,
                agreement: compared.then_some(self.agreement),
            };
            let label = format!("{} to {}", from.name(), Point::Answered.name());
            builder.series(label, phase, Quantity::Latency, Level::Wire, SeriesKind::Reaction(kind))
        };
        self.builders.iter().zip(FROM).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use tardy_record::pins::{AnswerBy, Line};
    use tardy_record::plan::Policy;

    use super::*;

    const START_NS: u64 = 1_000_000;

    fn rise(number: u64, answered_after_ns: Option<u64>) -> Rise {
        let raised_ns = START_NS + number * 1000 + 30;
        let answered_ns = answered_after_ns.map(|ns| raised_ns + ns);
        Rise { number, due_ns: raised_ns - 30, raised_ns, answered_ns }
    }

    /// The thread's sample of that rise: its edge's time stamp comes 2 ns later, its end 5 ns later.
    fn sample(rise: Rise) -> Sample {
        let late_ns = (rise.answered_ns.unwrap() + 5 - (rise.raised_ns + 2)) as i64;
        Sample { cycle: rise.number, at_ns: rise.answered_ns.unwrap() + 5, late_ns }
    }

    fn series(wire: &WireSeries) -> Vec<Series> {
        let line = Line { chip: "gpiochip0".into(), label: "x".into(), offset: 0, name: None };
        let plan = ReactionPlan {
            input: line.clone(),
            output: line,
            answer_by: AnswerBy::Events,
            cpu: 0,
            policy: Policy::Fifo,
            priority: 90,
            memory_locked: true,
            dma_latency_us: None,
            stimulus: None,
        };
        wire.series(0, &plan, Granted { policy: Policy::Fifo, priority: 90, pinned: true })
    }

    #[test]
    fn unanswered_rises_are_missed_and_rises_lost_by_the_log_are_dropped() {
        let mut wire = WireSeries::new(START_NS, 0, 1_000_000_000, &[]);
        wire.rise(Rise { raised_ns: START_NS - 1, ..rise(0, Some(100)) });
        for (number, answered) in [(1, Some(100)), (2, None), (5, Some(200)), (6, None)] {
            wire.rise(rise(number, answered));
        }
        for (series, max_ns) in series(&wire).iter().zip([230, 200]) {
            let tally = series.tally;
            assert_eq!((tally.recorded, tally.missed.get(), tally.dropped.get()), (2, Some(1), Some(2)));
            assert_eq!(tally.attempted.get(), Some(5), "the last rise may yet be answered");
            assert_eq!((series.max_ns, series.worst[0].cycle), (Some(max_ns), 4));
        }
    }

    #[test]
    fn thread_and_log_are_compared_edge_by_edge() {
        let mut wire = WireSeries::new(START_NS, 0, 1_000_000_000, &[]);
        let rises =
            [rise(0, Some(100)), rise(1, Some(700)), rise(2, Some(90)), rise(3, None), rise(4, Some(50))];
        rises.into_iter().for_each(|rise| wire.rise(rise));
        // The thread's sample of the second rise was lost.
        for index in [0, 2, 4] {
            wire.compare(sample(rises[index]));
        }
        wire.compare(Sample { cycle: 9, at_ns: START_NS + 9500, late_ns: 100 });
        let agreement = series(&wire)[1].reaction().unwrap().agreement.unwrap();
        assert_eq!(agreement, Agreement { compared: 2, agreeing: 2, highest_difference_ns: 3, unmatched: 1 });
        assert_eq!(
            series(&wire)[0].reaction().unwrap().agreement,
            None,
            "the thread does not know when a rise was due"
        );
    }
}
