//! Reaction to pins: an edge on one line of a GPIO chip, and the answer on another. Probes that only drive a line are
//! in [`crate::wiggle`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scheduling::Policy;

/// A line of a GPIO chip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// The chip's device, such as `gpiochip0`.
    pub chip: String,
    /// The label of the chip's driver, such as `pinctrl-bcm2835`.
    pub label: String,
    /// The line's number on the chip.
    pub offset: u32,
    /// The line's name in the device tree, such as `GPIO17`; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Line {
    /// The name in tables: `gpiochip0:17`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.chip, self.offset)
    }
}

/// How a thread detects an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerBy {
    /// It waits for edge events of the character device (uAPI v2); an interrupt wakes it.
    #[default]
    Events,
    /// It polls the line's value without pause.
    Busy,
    /// It waits for an edge in sysfs (`/sys/class/gpio`), the interface before the character device, and answers
    /// there.
    Sysfs,
}

impl AnswerBy {
    /// All variants, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Events, Self::Busy, Self::Sysfs];

    /// The name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Busy => "busy",
            Self::Sysfs => "sysfs",
        }
    }

    /// Whether it receives the time and the sequence number of each edge.
    pub fn sees_edges(self) -> bool {
        self == Self::Events
    }
}

/// The source of a stimulus that tardy generates, for a wire to the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum StimulusSource {
    /// A thread of tardy writes to a line.
    Line {
        /// The line.
        line: Line,
        /// The thread's CPU; its policy and priority are those of the answering thread.
        cpu: u32,
    },
    /// A PWM output that is set up once: Linux is not involved in its edges, and their times are not known.
    Pwm {
        /// Its controller in /sys/class/pwm, such as `pwmchip0`.
        chip: String,
        /// The controller's channel.
        channel: u32,
    },
}

impl StimulusSource {
    /// The name in tables: `gpiochip0:22`, `pwmchip0:1`.
    pub fn place(&self) -> String {
        match self {
            Self::Line { line, .. } => line.place(),
            Self::Pwm { chip, channel } => format!("{chip}:{channel}"),
        }
    }
}

/// A stimulus that tardy generates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StimulusPlan {
    /// Its source.
    pub source: StimulusSource,
    /// From one rising edge to the next, in ns.
    pub period_ns: u64,
    /// Each rising edge is delayed at random by up to this, in ns; 0 for a PWM output.
    pub dither_ns: u64,
    /// An input with a wire to the answer, on which the answer's edge is read back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<Line>,
}

/// A reaction probe: a thread that answers each rising edge of one line on another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReactionPlan {
    /// The line of the edges.
    pub input: Line,
    /// The line of the answers.
    pub output: Line,
    /// How the thread detects an edge.
    pub answer_by: AnswerBy,
    /// The thread's CPU; it is pinned.
    pub cpu: u32,
    /// The requested scheduling policy.
    pub policy: Policy,
    /// Real-time priority; 0 if the policy has none.
    pub priority: u32,
    /// Whether memory is locked.
    pub memory_locked: bool,
    /// Longest exit latency of an idle state allowed through /dev/cpu_dma_latency, in us; absent if it was left
    /// alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dma_latency_us: Option<u32>,
    /// The stimulus that tardy generates; absent if the edges come from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stimulus: Option<Box<StimulusPlan>>,
}

/// Start and end of a span.
pub type Between = (Point, Point);

impl ReactionPlan {
    /// The spans that the answering thread measures, the whole span first. Only an edge event carries the time of the
    /// edge, and only the time of a stimulus written by a thread is known.
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

    /// The line that a thread of tardy drives as a stimulus, and that thread's CPU.
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

/// The span that the stimulus thread measures if the answer is read back.
pub const ECHOED: Between = (Point::Driven, Point::Echoed);

/// A point on the way from the stimulus to the answer, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// tardy has read the clock, right before it writes the stimulus.
    Driven,
    /// When the stimulus was due, as planned by its source.
    Due,
    /// When the stimulus came, as seen by its source.
    Raised,
    /// The kernel's timestamp of the edge, taken in the interrupt handler.
    Edge,
    /// The thread reads the clock, its first action after it has detected the edge.
    Running,
    /// The answer is written: in software, the write has returned; on the wire, the output has changed.
    Answered,
    /// The kernel's timestamp of the answer's edge, if it is read back.
    Echoed,
}

impl Point {
    /// The name in tables.
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

/// The fields of a series of reactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReactionSeries {
    /// The start of the span.
    pub from: Point,
    /// The end of the span.
    pub to: Point,
    /// How the thread detected the edges.
    pub answer_by: AnswerBy,
    /// The thread's CPU.
    pub cpu: u32,
    /// The policy that the thread actually had.
    pub policy: Policy,
    /// The real-time priority that the thread actually had.
    pub priority: u32,
    /// Whether another series of the phase covers the same edges.
    pub beside: bool,
    /// The agreement with the thread's own measurement, edge by edge; absent if it was not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
}

/// The largest difference between the thread's and the wire's time of an edge that counts as agreement, in ns.
pub const AGREEING_NS: u64 = 1000;

/// The agreement of the times in the wire's log with the thread's, edge by edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agreement {
    /// The number of edges compared.
    pub compared: u64,
    /// The number of these edges that differ by at most [`AGREEING_NS`], which covers the time between the two readings of the
    /// clock. Occasionally an interrupt occurs between them.
    pub agreeing: u64,
    /// The largest difference, in ns, as an absolute value.
    pub highest_difference_ns: u64,
    /// Answers of the thread without an edge in the log.
    pub unmatched: u64,
}
