//! Matches edges of the answer with edges of the stimulus.

use tardy_record::capture::Edge;
use tardy_record::series_builder::{Reading, SeriesBuilder};

use super::TimeBase;

/// Matches answers with stimuli as the reaction probe does: an answer belongs to the latest stimulus before it.
#[derive(Debug)]
pub(super) struct Reactions {
    builder: SeriesBuilder,
    /// The time of the unanswered stimulus, in ticks.
    waiting: Option<u64>,
    stimuli: u64,
    /// Answers without an unanswered stimulus before them.
    unmatched: u64,
    /// Stimuli without an answer when a channel became unknown.
    unknown: u64,
}

impl Reactions {
    pub(super) fn new() -> Self {
        Self {
            builder: SeriesBuilder::new(0, None, 0, &[]),
            waiting: None,
            stimuli: 0,
            unmatched: 0,
            unknown: 0,
        }
    }

    #[inline]
    pub(super) fn stimulus(&mut self, at: u64) {
        if self.waiting.replace(at).is_some() {
            self.builder.miss_readings(1);
        }
        self.stimuli += 1;
    }

    #[inline]
    pub(super) fn answer(&mut self, at: u64, time: &TimeBase) {
        let Some(since) = self.waiting.take() else {
            self.unmatched += 1;
            return;
        };
        let value_ns = time.ns(at - since) as i64;
        self.builder.record(Reading { value_ns, at_ns: time.ns(at), cycle: self.stimuli - 1, missed: 0 });
    }

    /// Drops the unanswered stimulus, since a channel becomes unknown: the next answer may belong to another stimulus.
    pub(super) fn lose(&mut self) {
        if self.waiting.take().is_some() {
            self.unknown += 1;
            self.builder.drop_readings(1);
        }
    }

    pub(super) fn builder(&self) -> &SeriesBuilder {
        &self.builder
    }

    /// The reason why there is no reaction, as a sentence. `None` if there is one.
    pub(super) fn nothing(&self, stimulus: &str, answer: &str, edge: Edge) -> Option<String> {
        let edge = edge.name();
        match (self.builder.recorded(), self.stimuli) {
            (0, 0) => Some(format!("{stimulus} has no {edge} edge")),
            (0, 1) => Some(format!("the one {edge} edge of {stimulus} was not answered by {answer}")),
            (0, stimuli) => {
                Some(format!("none of {stimuli} {edge} edges of {stimulus} was answered by {answer}"))
            }
            _ => None,
        }
    }

    /// Remarks for the reader.
    pub(super) fn remarks(&self, stimulus: &str, answer: &str) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.waiting.is_some() {
            remarks.push(format!(
                "the last edge of {stimulus} was not answered before the capture ended; it is not counted"
            ));
        }
        if self.unmatched > 0 {
            remarks.push(format!(
                "{} of {answer} came without an unanswered edge of {stimulus}; such edges are not counted",
                edges(self.unmatched)
            ));
        }
        if self.unknown > 0 {
            remarks.push(format!(
                "{} of {stimulus} had no answer when one of the channels became unknown; such edges are dropped",
                edges(self.unknown)
            ));
        }
        remarks
    }
}

fn edges(count: u64) -> String {
    if count == 1 { "1 edge".to_owned() } else { format!("{count} edges") }
}
