//! Wiggling a pin: a line that is made high and low in turn, how late each edge was, and where the line stood still.

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
    /// Registers that are mapped (`/dev/gpiomem`): a store for each edge.
    Gpiomem,
}

impl Through {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Chardev, Self::Sysfs, Self::Gpiomem];

    /// Its name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chardev => "chardev",
            Self::Sysfs => "sysfs",
            Self::Gpiomem => "gpiomem",
        }
    }
}

/// A wiggle probe: a thread that makes a line high and low in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WigglePlan {
    /// The line that is driven.
    pub output: Line,
    /// How its level is written.
    pub through: Through,
    /// When the next edge is.
    pub pace: Pace,
    /// An input with a wire to the line, on which its edges are heard; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<Line>,
}

/// When the next edge of a wiggle is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "pace", rename_all = "snake_case")]
pub enum Pace {
    /// At each deadline of a timer probe's one thread.
    Timer(TimerPlan),
    /// As soon as the one before it is written, by the one thread of a loop; where that stood still is a hole, by the
    /// threshold of a noise probe.
    Fastest(NoisePlan),
    /// When another program writes it: tardy runs that, and listens to the echo.
    Command {
        /// The program, and what it is given.
        words: Vec<String>,
    },
}

impl WigglePlan {
    /// The thread's CPU; absent where another program's writes.
    pub fn cpu(&self) -> Option<u32> {
        match &self.pace {
            Pace::Timer(timer) => timer.threads.first().map(|thread| thread.cpu),
            Pace::Fastest(fastest) => fastest.threads.first().map(|thread| thread.cpu),
            Pace::Command { .. } => None,
        }
    }

    /// Scheduling policy asked for; absent where another program has its own.
    pub fn policy(&self) -> Option<Policy> {
        match &self.pace {
            Pace::Timer(timer) => Some(timer.policy),
            Pace::Fastest(fastest) => Some(fastest.policy),
            Pace::Command { .. } => None,
        }
    }

    /// The timer, where there is one.
    pub fn timer(&self) -> Option<&TimerPlan> {
        match &self.pace {
            Pace::Timer(timer) => Some(timer),
            Pace::Fastest(_) | Pace::Command { .. } => None,
        }
    }
}

/// What only a series of times between two edges has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EdgeSeries {
    /// Who saw the edges.
    pub seen: Seen,
    /// Whether another series of the phase is of the same edges, as they were written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
}

/// Who saw the edges of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Seen {
    /// The thread that wrote them, by its own clock.
    Written {
        /// Its CPU.
        cpu: u32,
        /// The policy that it really had.
        policy: Policy,
        /// The real-time priority that it really had.
        priority: u32,
        /// How the level was written.
        through: Through,
    },
    /// The kernel, in the handler of an input's interrupt.
    Echoed {
        /// The input, such as `gpiochip0:27`.
        line: String,
    },
}

impl EdgeSeries {
    /// The CPU of the thread that wrote the edges; what is heard of an input counts as CPU 0's.
    pub fn cpu(&self) -> u32 {
        match &self.seen {
            Seen::Written { cpu, .. } => *cpu,
            Seen::Echoed { .. } => 0,
        }
    }
}
