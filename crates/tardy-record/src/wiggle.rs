//! Wiggling a pin: a line that is made high and low in turn, how late each edge was, and where the line stood still.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pins::Line;
use crate::plan::{NoisePlan, Policy, TimerPlan};

/// How a line's level is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Through {
    /// The character device (uAPI v2): an ioctl(2) for each edge.
    #[default]
    Chardev,
}

impl Through {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 1] = [Self::Chardev];

    /// Its name on the command line, in recipes and in run files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chardev => "chardev",
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
}

impl WigglePlan {
    /// The thread's CPU.
    pub fn cpu(&self) -> u32 {
        let cpu = match &self.pace {
            Pace::Timer(timer) => timer.threads.first().map(|thread| thread.cpu),
            Pace::Fastest(fastest) => fastest.threads.first().map(|thread| thread.cpu),
        };
        cpu.unwrap_or(0)
    }

    /// Scheduling policy asked for.
    pub fn policy(&self) -> Policy {
        match &self.pace {
            Pace::Timer(timer) => timer.policy,
            Pace::Fastest(fastest) => fastest.policy,
        }
    }

    /// The timer, where there is one.
    pub fn timer(&self) -> Option<&TimerPlan> {
        match &self.pace {
            Pace::Timer(timer) => Some(timer),
            Pace::Fastest(_) => None,
        }
    }
}

/// What only a series of times between two edges has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EdgeSeries {
    /// The thread's CPU.
    pub cpu: u32,
    /// The policy that it really had.
    pub policy: Policy,
    /// The real-time priority that it really had.
    pub priority: u32,
    /// How the level was written.
    pub through: Through,
}
