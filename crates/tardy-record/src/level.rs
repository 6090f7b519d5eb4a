//! The quantity that a series measures, and the level between hardware and program at which it is measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The time from when an event was due to when it happened.
    Latency,
    /// The time for which the thread on a CPU was interrupted.
    Noise,
    /// The time from one edge or cycle to another.
    Spacing,
    /// The CPU time of one cycle.
    Execution,
}

impl Quantity {
    /// The name, as in the run file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Noise => "noise",
            Self::Spacing => "spacing",
            Self::Execution => "execution",
        }
    }
}

/// The level at which a latency is measured, from the hardware upwards (docs/levels.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// In the interrupt handler.
    Irq,
    /// When the kernel makes the thread ready to run.
    Wakeup,
    /// In a kernel thread, or when the scheduler selects the user thread.
    KernelThread,
    /// In a user-space program.
    UserThread,
    /// On the wire or the pin.
    Wire,
}

impl Level {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Irq => "timer IRQ",
            Self::Wakeup => "wake-up",
            Self::KernelThread => "kernel thread",
            Self::UserThread => "user thread",
            Self::Wire => "wire",
        }
    }
}
