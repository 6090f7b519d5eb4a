//! The series of a logic analyser: intervals between the edges of captured signals.
//!
//! A capture contains pins and times. It does not show which thread answered or how the thread detected the edge, so
//! its series kind is separate from [`crate::pins::ReactionSeries`], which describes a known thread.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gaps::KeptGaps;

/// An interval between two edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interval {
    /// From an edge of the stimulus to the next edge of the answer.
    Reaction,
    /// How long the signal was high.
    High,
    /// How long the signal was low.
    Low,
    /// From one edge to the next edge of the same direction.
    Period,
    /// The difference between a period and the median of the periods around it; negative if it is shorter.
    Jitter,
    /// How long an edge of a regular signal was overdue.
    Hole,
}

impl Interval {
    /// The name in tables.
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
    /// The name on the command line and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rising => "rising",
            Self::Falling => "falling",
        }
    }
}

/// The limit on the resolution of a capture's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedBy {
    /// The sample rate stated in the file.
    SampleRate,
    /// The time scale of the file; the analyser may have sampled more coarsely.
    TimeScale,
    /// The number of digits in the file; the analyser may have sampled more coarsely.
    Digits,
    /// Unknown: the file does not state it.
    Unstated,
}

/// The fields of a capture's series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureSeries {
    /// The interval that is measured.
    pub interval: Interval,
    /// The channel, named as in the file; for reactions, the channel of the stimulus.
    pub channel: String,
    /// The channel of the answers; absent for intervals other than reactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Whether the capture also has a series of reactions, and this series only describes one of its channels.
    pub beside: bool,
    /// The edges that count as stimulus and answer, and that start a period.
    pub edge: Edge,
    /// The smallest time difference that the file can express, in ps, rounded up. It is the resolution of each
    /// reading if the file states its sample rate.
    pub resolution_ps: u64,
    /// The source of the resolution.
    pub resolved_by: ResolvedBy,
    /// The times of the holes that are kept; absent for other intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holes: Option<KeptGaps>,
}

/// The field of a capture's series with `recorded` readings that contradicts the others, and why; `None` if all
/// agree.
pub(crate) fn contradiction(capture: &CaptureSeries, recorded: u64) -> Option<(&'static str, String)> {
    if capture.resolution_ps == 0 {
        return Some(("kind.resolution_ps", "a resolution of 0".to_owned()));
    }
    if (capture.interval == Interval::Reaction) != capture.answer.is_some() {
        return Some((
            "kind.answer",
            "a channel with answers is required for reactions and not allowed otherwise".to_owned(),
        ));
    }
    match (&capture.holes, capture.interval) {
        (Some(kept), Interval::Hole) => kept.contradiction(recorded),
        (None, Interval::Hole) => Some(("kind.holes", "holes without times".to_owned())),
        (Some(_), _) => Some(("kind.holes", "times of holes in a series of another interval".to_owned())),
        (None, _) => None,
    }
}
