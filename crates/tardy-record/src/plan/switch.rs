//! The plan of a switch test.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flows of frames through a time-aware switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchPlan {
    /// Whether the ports have their schedules; otherwise every gate is always open.
    pub shaped: bool,
    /// The flows.
    pub flows: Vec<FlowPlan>,
}

impl SwitchPlan {
    /// The label of a phase with or without the schedules.
    pub fn label(shaped: bool) -> &'static str {
        if shaped { "shaped" } else { "unshaped" }
    }
}

/// A flow of frames.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPlan {
    /// Its name in the switch file.
    pub name: String,
    /// Length of a frame without preamble, checksum and gap, in bytes.
    pub frame_bytes: u32,
    /// From one frame to the next, in ns; absent for a talker that sends as fast as it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
}
