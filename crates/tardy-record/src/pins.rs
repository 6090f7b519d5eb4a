//! Reaction on pins: an edge on one line of a GPIO chip, and the answer on another. What only drives a line is in
//! [`crate::wiggle`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::Policy;

/// A line of a GPIO chip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// The chip's device, such as `gpiochip0`.
    pub chip: String,
    /// What the chip's driver calls it, such as `pinctrl-bcm2835`.
    pub label: String,
    /// The line's number on the chip.
    pub offset: u32,
    /// The line's name in the device tree, such as `GPIO17`; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Line {
    /// What it is called in tables: `gpiochip0:17`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.chip, self.offset)
    }
}

/// How a thread learns of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerBy {
    /// It waits for the character device's edge events (uAPI v2): an interrupt wakes it.
    #[default]
    Events,
    /// It asks for the line's value without pause.
    Busy,
}

impl AnswerBy {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 2] = [Self::Events, Self::Busy];

    /// Its name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Busy => "busy",
        }
    }

    /// What is measured inside, the whole way first: the others are its parts. Only an event says when its edge was.
    pub fn spans(self) -> &'static [(Point, Point)] {
        match self {
            Self::Events => &[
                (Point::Edge, Point::Answered),
                (Point::Edge, Point::Running),
                (Point::Running, Point::Answered),
            ],
            Self::Busy => &[(Point::Running, Point::Answered)],
        }
    }
}

/// A reaction probe: a thread that answers each rising edge of one line on another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReactionPlan {
    /// Where the edges come.
    pub input: Line,
    /// Where the answer goes.
    pub output: Line,
    /// How the thread learns of an edge.
    pub answer_by: AnswerBy,
    /// The thread's CPU; it is pinned.
    pub cpu: u32,
    /// Scheduling policy asked for.
    pub policy: Policy,
    /// Real-time priority, 0 where the policy has none.
    pub priority: u32,
    /// Whether memory is locked.
    pub memory_locked: bool,
    /// Longest exit latency of an idle state allowed through /dev/cpu_dma_latency, in us; absent: left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dma_latency_us: Option<u32>,
}

/// A point on the way from the stimulus to the answer, in the order in which they pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// When the stimulus was to come, as whoever makes it planned it.
    Due,
    /// When it came, as whoever makes it saw it.
    Raised,
    /// The kernel's time stamp of the edge, taken in the interrupt's handler.
    Edge,
    /// The thread reads the clock, the first thing after it has learnt of the edge.
    Running,
    /// The answer is written: inside, the write has returned; on the wire, the output has changed.
    Answered,
}

impl Point {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Raised => "raised",
            Self::Edge => "edge",
            Self::Running => "running",
            Self::Answered => "answered",
        }
    }
}

/// What only a series of reactions has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReactionSeries {
    /// From here
    pub from: Point,
    /// to here.
    pub to: Point,
    /// How the thread learnt of the edges.
    pub answer_by: AnswerBy,
    /// The thread's CPU.
    pub cpu: u32,
    /// The policy that it really had.
    pub policy: Policy,
    /// The real-time priority that it really had.
    pub priority: u32,
    /// Whether another series of the phase answers for the same edges.
    pub beside: bool,
    /// How far this agrees, edge by edge, with what the thread itself measured; absent where nobody compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
}

/// What the thread's time of an edge and the wire's may differ by, in ns, and agree.
pub const AGREEING_NS: u64 = 1000;

/// How far the times of the wire's own log agree with the thread's, edge by edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agreement {
    /// How many edges were compared.
    pub compared: u64,
    /// How many of these differ by no more than [`AGREEING_NS`]: what lies between the two readings of the clock at either
    /// end. Now and then an interrupt comes in between.
    pub agreeing: u64,
    /// The largest difference of one, in ns, either way.
    pub highest_difference_ns: u64,
    /// The thread's answers for which the log has no edge.
    pub unmatched: u64,
}
