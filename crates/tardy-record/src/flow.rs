//! A flow of frames through a time-aware switch, as its listener saw it.
//!
//! The head of the series holds the latencies, from the talker's send time to the listener's receive time. What is
//! here is about the cycle: at which phase of it frames came, and whether their slot was open then. Phases count from
//! the base time of the operating schedule, on its clock, modulo its cycle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::knowable::Knowable;

mod phase_clock;
mod phase_histogram;

pub use phase_clock::PhaseClock;
pub(crate) use phase_clock::{Place, place};
pub(crate) use phase_histogram::PhaseCounts;
pub use phase_histogram::{PHASE_BIN_COUNT, PhaseBin, PhaseHistogram};

/// How many stretches of time the drift of a flow's phase is kept for.
pub const DRIFT_COUNT: usize = 64;
/// The most windows that a class can have in a cycle.
pub const WINDOW_COUNT: usize = 4096;

/// A flow, as its listener saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSeries {
    /// The flow's name in the switch file.
    pub flow: String,
    /// Its traffic class.
    pub class: u8,
    /// The port of the switch that it leaves by towards its listener.
    pub port: String,
    /// The listener's name in the switch file.
    pub listener: String,
    /// Who noted when a frame came.
    pub stamped_by: StampSource,
    /// Length of the cycle, in ns.
    pub cycle_ns: u64,
    /// When frames came in the cycle, and how many bytes of the wire they took: the rate over the cycle is the second.
    pub phases: PhaseHistogram,
    /// When the class's gate was open in the operating schedule, in ascending order; empty where no schedule ran.
    pub windows: Vec<Window>,
    /// What became of the frames.
    pub frames: FrameCount,
    /// Frames nearer to the opening of the next window than to the end of the last.
    pub early: OutOfSlot,
    /// Frames nearer to the end of the last window than to the opening of the next.
    pub late: OutOfSlot,
    /// How the phase moved in the time of the measurement, in ascending order, at most [`DRIFT_COUNT`].
    pub drift: Vec<PhaseSlice>,
    /// How long after its dequeueing a frame was received, as the kernel's trace shows it; absent where nobody looked.
    /// A frame that leaves at the very end of its slot arrives so much later without any fault of the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dequeue_to_receive: Option<DequeueCost>,
    /// TAI − UTC of the clock that stamped, in s, while it was measured.
    pub tai_minus_utc_s: Knowable<i32>,
}

impl FlowSeries {
    /// Frames that came while their gate was shut.
    pub fn out_of_slot(&self) -> u64 {
        self.early.frames.saturating_add(self.late.frames)
    }
}

/// Who noted when a frame came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StampSource {
    /// The network device, on the wire.
    Hardware,
    /// The kernel, when the driver handed the frame over.
    Software,
    /// Nobody: a simulator computed it.
    Simulated,
}

impl StampSource {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Software => "software",
            Self::Simulated => "simulated",
        }
    }
}

/// A stretch of the cycle in which a class's gate is open, `[open_ns, close_ns)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// When it opens, in ns from the start of the cycle.
    pub open_ns: u64,
    /// When it shuts; beyond the cycle's end for one that goes on in the next cycle.
    pub close_ns: u64,
    /// How long before its end no frame of this flow's size may start any more: the time that the frame takes.
    pub guard_ns: u64,
}

/// What became of a flow's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameCount {
    /// Sent by the talker, warm-up not counted.
    pub sent: Knowable<u64>,
    /// Received, each once.
    pub received: u64,
    /// Sent and never received.
    pub lost: Knowable<u64>,
    /// Received after one that was sent later.
    pub reordered: u64,
    /// Received again.
    pub duplicated: u64,
}

/// Frames that came while their gate was shut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutOfSlot {
    /// How many.
    pub frames: u64,
    /// How far the worst was from its slot, in ns; 0 where there was none.
    pub worst_ns: u64,
}

impl OutOfSlot {
    pub(crate) fn add(&mut self, margin_ns: u64) {
        self.frames += 1;
        self.worst_ns = self.worst_ns.max(margin_ns);
    }
}

/// A stretch of time, and between which phases frames came in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseSlice {
    /// Its start, in ns from the start of the run.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// Frames in it.
    pub frames: u64,
    /// The earliest phase, in ns.
    pub min_ns: u64,
    /// The median phase, in ns, to the width of a bin of the phase histogram.
    pub median_ns: u64,
    /// The latest phase, in ns.
    pub max_ns: u64,
}

/// The time from the kernel's dequeueing of a frame to its receive timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DequeueCost {
    /// How many frames it was seen of.
    pub frames: u64,
    /// The shortest, in ns.
    pub min_ns: u64,
    /// The median, in ns.
    pub median_ns: u64,
    /// The longest, in ns.
    pub max_ns: u64,
}

impl DequeueCost {
    /// Of these costs; nothing of none.
    pub fn of(costs_ns: &[u64]) -> Option<Self> {
        let mut sorted = costs_ns.to_vec();
        sorted.sort_unstable();
        Some(Self {
            frames: sorted.len() as u64,
            min_ns: *sorted.first()?,
            median_ns: sorted[sorted.len() / 2],
            max_ns: *sorted.last()?,
        })
    }
}

/// What is wrong with a flow that was read from outside; nothing if all is well.
pub(crate) fn contradiction(flow: &FlowSeries, recorded: u64) -> Option<(&'static str, String)> {
    if flow.cycle_ns == 0 {
        return Some(("kind.cycle_ns", format!("a cycle of 0 of flow '{}'", flow.flow)));
    }
    if flow.frames.received != recorded {
        return Some(("kind.frames", format!("{} received, but {recorded} recorded", flow.frames.received)));
    }
    if let Some(reason) = flow.phases.contradiction(flow.cycle_ns) {
        return Some(("kind.phases", reason));
    }
    if flow.windows.len() > WINDOW_COUNT || flow.drift.len() > DRIFT_COUNT {
        return Some(("kind.windows", "more windows or slices than a flow keeps".to_owned()));
    }
    let sound = |window: &Window| {
        window.open_ns < flow.cycle_ns
            && window.close_ns > window.open_ns
            && window.close_ns - window.open_ns <= flow.cycle_ns
    };
    if !flow.windows.iter().all(sound) || !flow.windows.is_sorted_by_key(|window| window.open_ns) {
        return Some((
            "kind.windows",
            "a window that is empty, out of order or outside the cycle".to_owned(),
        ));
    }
    if !flow.drift.iter().all(|slice| slice.start_ns <= slice.end_ns && slice.min_ns <= slice.max_ns) {
        return Some(("kind.drift", "a slice that ends before it begins".to_owned()));
    }
    None
}
