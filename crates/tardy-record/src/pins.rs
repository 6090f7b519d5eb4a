//! Reaction on pins: an edge on one line of a GPIO chip, and the answer on another. What only drives a line is in
//! [`crate::wiggle`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scheduling::Policy;

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
    /// It waits for an edge in sysfs (`/sys/class/gpio`), the interface before the character device, and answers there.
    Sysfs,
}

impl AnswerBy {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Events, Self::Busy, Self::Sysfs];

    /// Its name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Busy => "busy",
            Self::Sysfs => "sysfs",
        }
    }

    /// Whether it is told when each edge was, and its number.
    pub fn sees_edges(self) -> bool {
        self == Self::Events
    }
}

/// Where a stimulus comes from that tardy makes itself, for a wire to the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum StimulusSource {
    /// A thread of tardy's writes to a line.
    Line {
        /// The line.
        line: Line,
        /// The thread's CPU; it has the policy and priority of the one that answers.
        cpu: u32,
    },
    /// A PWM output, set up once: nothing of Linux is in its edges, and nobody knows when they come.
    Pwm {
        /// Its controller below /sys/class/pwm, such as `pwmchip0`.
        chip: String,
        /// The controller's channel.
        channel: u32,
    },
}

impl StimulusSource {
    /// What it is called in tables: `gpiochip0:22`, `pwmchip0:1`.
    pub fn place(&self) -> String {
        match self {
            Self::Line { line, .. } => line.place(),
            Self::Pwm { chip, channel } => format!("{chip}:{channel}"),
        }
    }
}

/// A stimulus that tardy makes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StimulusPlan {
    /// Where it comes from.
    pub source: StimulusSource,
    /// From one rising edge to the next, in ns.
    pub period_ns: u64,
    /// Each rising edge is put off at random by up to this, in ns; 0 of a PWM output.
    pub dither_ns: u64,
    /// An input with a wire to the answer, on which its edge is read back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<Line>,
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
    /// Who makes the edges; absent: somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stimulus: Option<Box<StimulusPlan>>,
}

/// From one point to another.
pub type Between = (Point, Point);

impl ReactionPlan {
    /// What the thread that answers measures, the whole way first. Only an event says when its edge was, and only of a
    /// stimulus that a thread writes is known when it came.
    pub fn spans(&self) -> &'static [Between] {
        match (self.driven().is_some(), self.answer_by.sees_edges()) {
            (false, true) => &[
                (Point::Edge, Point::Answered),
                (Point::Edge, Point::Running),
                (Point::Running, Point::Answered),
            ],
            (false, false) => &[(Point::Running, Point::Answered)],
            (true, true) => &[
                (Point::Driven, Point::Answered),
                (Point::Driven, Point::Edge),
                (Point::Edge, Point::Answered),
                (Point::Edge, Point::Running),
                (Point::Running, Point::Answered),
            ],
            (true, false) => &[
                (Point::Driven, Point::Answered),
                (Point::Driven, Point::Running),
                (Point::Running, Point::Answered),
            ],
        }
    }

    /// The line that a thread of tardy's drives for a stimulus, and that thread's CPU.
    pub fn driven(&self) -> Option<(&Line, u32)> {
        match &self.stimulus.as_ref()?.source {
            StimulusSource::Line { line, cpu } => Some((line, *cpu)),
            StimulusSource::Pwm { .. } => None,
        }
    }

    /// The line on which the answer is read back.
    pub fn echo(&self) -> Option<&Line> {
        self.stimulus.as_ref()?.echo.as_ref()
    }

    /// The lines that tardy drives.
    pub fn outputs(&self) -> impl Iterator<Item = &Line> {
        std::iter::once(&self.output).chain(self.driven().map(|(line, _)| line))
    }
}

/// What the thread that makes the stimulus measures, where the answer is read back.
pub const ECHOED: Between = (Point::Driven, Point::Echoed);

/// A point on the way from the stimulus to the answer, in the order in which they pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// tardy has read the clock, right before it writes the stimulus.
    Driven,
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
    /// The kernel's time stamp of the answer's edge, where it is read back.
    Echoed,
}

impl Point {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Driven => "driven",
            Self::Due => "due",
            Self::Raised => "raised",
            Self::Edge => "edge",
            Self::Running => "running",
            Self::Answered => "answered",
            Self::Echoed => "echoed",
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
