//! Toggling a pin: a line that is driven high and low alternately, the latency of each edge, and the times during which the
//! line did not change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::noise::NoisePlan;
use crate::pins::Line;
use crate::scheduling::Policy;
use crate::timer::TimerPlan;

/// How a line's level is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Through {
    /// The character device (uAPI v2): an ioctl(2) for each edge.
    #[default]
    Chardev,
    /// sysfs (`/sys/class/gpio`), the interface before it: a write(2) for each edge.
    Sysfs,
    /// Mapped registers (`/dev/gpiomem`): a store for each edge.
    Gpiomem,
}

impl Through {
    /// All variants, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Chardev, Self::Sysfs, Self::Gpiomem];

    /// The name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chardev => "chardev",
            Self::Sysfs => "sysfs",
            Self::Gpiomem => "gpiomem",
        }
    }
}

/// A wiggle probe: a thread that drives a line high and low alternately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WigglePlan {
    /// The line that is driven.
    pub output: Line,
    /// How its level is written.
    pub through: Through,
    /// When the next edge follows.
    pub pace: Pace,
    /// An input with a wire to the line, on which its edges are read back; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<Line>,
}

/// When the next edge of a wiggle follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "pace", rename_all = "snake_case")]
pub enum Pace {
    /// At each deadline of a timer probe with one thread.
    Timer(TimerPlan),
    /// As soon as the edge before is written, by a loop in one thread; gaps above the threshold of a noise probe are
    /// holes.
    Fastest(NoisePlan),
    /// When another program writes it: tardy runs the program and reads the edges back.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
    },
}

impl WigglePlan {
    /// The thread's CPU; `None` if another program drives the line.
    pub fn cpu(&self) -> Option<u32> {
        match &self.pace {
            Pace::Timer(timer) => timer.threads.first().map(|thread| thread.cpu),
            Pace::Fastest(fastest) => fastest.threads.first().map(|thread| thread.cpu),
            Pace::Command { .. } => None,
        }
    }

    /// The requested scheduling policy; `None` if another program drives the line.
    pub fn policy(&self) -> Option<Policy> {
        match &self.pace {
            Pace::Timer(timer) => Some(timer.policy),
            Pace::Fastest(fastest) => Some(fastest.policy),
            Pace::Command { .. } => None,
        }
    }

    /// The timer; `None` for other paces.
    pub fn timer(&self) -> Option<&TimerPlan> {
        match &self.pace {
            Pace::Timer(timer) => Some(timer),
            Pace::Fastest(_) | Pace::Command { .. } => None,
        }
    }
}

/// The fields of a series of times between two edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EdgeSeries {
    /// How the edges were observed.
    pub seen: Seen,
    /// Whether another series of the phase has the same edges, as they were written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
}

/// How the edges of a series were observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Seen {
    /// By the thread that wrote them, with its own clock.
    Written {
        /// Its CPU.
        cpu: u32,
        /// The policy that the thread actually had.
        policy: Policy,
        /// The real-time priority that the thread actually had.
        priority: u32,
        /// How the level was written.
        through: Through,
    },
    /// By the kernel, in the interrupt handler of an input.
    Echoed {
        /// The input, such as `gpiochip0:27`.
        line: String,
    },
}

impl EdgeSeries {
    /// The CPU of the thread that wrote the edges; edges read back on an input count as CPU 0.
    pub fn cpu(&self) -> u32 {
        match &self.seen {
            Seen::Written { cpu, .. } => *cpu,
            Seen::Echoed { .. } => 0,
        }
    }
}
