//! What a logic analyser saw: intervals between the edges of captured signals.
//!
//! A capture knows pins and times and nothing else: neither which thread answered nor how it learnt of the edge, so that
//! a series of it is a kind of its own, beside [`crate::pins::ReactionSeries`], which is of a known thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gaps::KeptGaps;

/// What lies between two edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interval {
    /// From an edge of the stimulus to the next edge of the answer.
    Reaction,
    /// For how long the signal was high.
    High,
    /// For how long it was low.
    Low,
    /// From one edge to the next of the same direction.
    Period,
    /// By how much a period differs from the median of those around it; negative: shorter.
    Jitter,
    /// For how long an edge of a regular signal was overdue.
    Hole,
}

impl Interval {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reaction => "reaction",
            Self::High => "high",
            Self::Low => "low",
            Self::Period => "period",
            Self::Jitter => "period jitter",
            Self::Hole => "holes",
        }
    }
}

/// The direction of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// From low to high.
    #[default]
    Rising,
    /// From high to low.
    Falling,
}

impl Edge {
    /// Its name on the command line and in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rising => "rising",
            Self::Falling => "falling",
        }
    }
}

/// What limits how finely a capture's times are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedBy {
    /// The sample rate, which the file states.
    SampleRate,
    /// The file's time scale; the analyser may have sampled more coarsely than that.
    TimeScale,
    /// The digits that the file gives; the analyser may have sampled more coarsely than that.
    Digits,
    /// Nothing that the file says.
    Unstated,
}

/// What only a series of a capture has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureSeries {
    /// What its readings are.
    pub interval: Interval,
    /// The channel, as the file calls it; of a reaction the one with the stimulus.
    pub channel: String,
    /// The channel with the answers; absent where nothing is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Whether reactions of the same capture are what is measured, and this only says more about one of their channels.
    pub beside: bool,
    /// Which edges count as stimulus and answer, and begin a period.
    pub edge: Edge,
    /// The smallest difference of two times that the file can express, in ps, rounded up: each reading is known to
    /// within as much, where the file says how often it was sampled.
    pub resolution_ps: u64,
    /// What that comes from.
    pub resolved_by: ResolvedBy,
    /// When the holes were, as many as are kept; absent of any other interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holes: Option<KeptGaps>,
}

/// What is wrong with a capture's series with `recorded` readings, if anything: the field, and why.
pub(crate) fn contradiction(capture: &CaptureSeries, recorded: u64) -> Option<(&'static str, String)> {
    if capture.resolution_ps == 0 {
        return Some(("kind.resolution_ps", "a resolution of 0, which no instrument has".to_owned()));
    }
    if (capture.interval == Interval::Reaction) != capture.answer.is_some() {
        return Some(("kind.answer", "reactions, and nothing else, have a channel with answers".to_owned()));
    }
    match (&capture.holes, capture.interval) {
        (Some(kept), Interval::Hole) => kept.contradiction(recorded),
        (None, Interval::Hole) => Some(("kind.holes", "holes of which no time is kept".to_owned())),
        (Some(_), _) => Some(("kind.holes", "times of holes in a series of something else".to_owned())),
        (None, _) => None,
    }
}
