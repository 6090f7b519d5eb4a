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
    /// The limits that it must keep.
    #[serde(default, skip_serializing_if = "FlowLimits::is_default")]
    pub limits: FlowLimits,
    /// Set if the switch file's rules give the flow's frames another class than the file declares for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misclassified: Option<Misclassified>,
}

/// A flow whose frames get another traffic class than its file declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Misclassified {
    /// The first switch on the flow's way that does so.
    pub switch: String,
    /// The name of the class that its frames get there.
    pub class: String,
    /// The name of the declared class.
    pub declared: String,
}

/// The limits of a flow. By default no frame may be lost, and frames may be late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowLimits {
    /// The longest permitted latency, in ns; absent if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// The largest permitted difference between the longest and the shortest latency, in ns; absent if there is no
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ns: Option<u64>,
    /// The number of frames in a million sent that may be lost.
    #[serde(default)]
    pub loss_ppm: u32,
}

impl FlowLimits {
    /// Whether these are the limits of a flow that states none.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The number of frames that may be lost of `sent`.
    pub fn frames_lost_max(&self, sent: u64) -> u64 {
        (u128::from(sent) * u128::from(self.loss_ppm) / 1_000_000) as u64
    }
}
