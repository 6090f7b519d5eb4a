//! The series of a flow of frames through a time-aware switch, as its listener received it.
//!
//! The head of the series holds the latencies, from the talker's send time to the listener's receive time. The fields
//! here describe the cycle: the phases at which frames arrived, and whether their slot was open. Phases count from
//! the base time of the operating schedule, on its clock, modulo its cycle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::knowable::Knowable;

mod phase_clock;
mod phase_histogram;

pub use phase_clock::PhaseClock;
use phase_clock::until_close_ns;
pub(crate) use phase_clock::{Place, place};
pub(crate) use phase_histogram::PhaseCounts;
pub use phase_histogram::{PHASE_BIN_COUNT, PhaseBin, PhaseHistogram};

/// The maximum number of slices of the drift of a flow's phase.
pub const DRIFT_COUNT: usize = 64;
/// The most windows that a class can have in a cycle.
pub const WINDOW_COUNT: usize = 4096;

/// A flow, as its listener received it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSeries {
    /// The flow's name in the switch file.
    pub flow: String,
    /// Its traffic class.
    pub class: u8,
    /// The port by which it leaves the switch towards its listener.
    pub port: String,
    /// The listener's name in the switch file.
    pub listener: String,
    /// The source of the receive timestamps.
    pub stamped_by: StampSource,
    /// Length of the cycle, in ns.
    pub cycle_ns: u64,
    /// Frames and bytes on the wire by phase; the bytes give the rate over the cycle.
    pub phases: PhaseHistogram,
    /// When the class's gate was open in the operating schedule, in ascending order; empty if no schedule ran.
    pub windows: Vec<Window>,
    /// Counts of frames.
    pub frames: FrameCount,
    /// Frames outside their slot, nearer to the next window than to the last.
    pub early: OutOfSlot,
    /// Frames outside their slot, nearer to the last window than to the next.
    pub late: OutOfSlot,
    /// How the phase moved during the measurement, in ascending order, at most [`DRIFT_COUNT`].
    pub drift: Vec<PhaseSlice>,
    /// The time from dequeueing a frame to receiving it, from the kernel's trace; absent if it was not traced. A frame that
    /// leaves at the very end of its slot arrives this much later although the gates followed the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dequeue_to_receive: Option<DequeueCost>,
    /// When its frames were sent at the gate, from the kernel's trace; absent if frames and trace cannot be matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_gate: Option<GateCount>,
    /// TAI − UTC of the receiving clock during the measurement, in s.
    pub tai_minus_utc_s: Knowable<i32>,
}

impl FlowSeries {
    /// Frames that arrived while their gate was closed.
    pub fn out_of_slot(&self) -> u64 {
        self.early.frames.saturating_add(self.late.frames)
    }
}

/// The source of receive timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StampSource {
    /// The network device, on the wire.
    Hardware,
    /// The kernel, when the driver delivered the frame.
    Software,
    /// A simulator.
    Simulated,
}

impl StampSource {
    /// The name in tables.
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
    /// When it closes, in ns; past the end of the cycle for a window that continues in the next cycle.
    pub close_ns: u64,
    /// The guard band: no frame of this flow's size may start later than this before the end, in ns.
    pub guard_ns: u64,
}

/// Counts of a flow's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameCount {
    /// Sent by the talker, without the warm-up.
    pub sent: Knowable<u64>,
    /// Received, without duplicates.
    pub received: u64,
    /// Sent but not received.
    pub lost: Knowable<u64>,
    /// Received after a frame that was sent later.
    pub reordered: u64,
    /// Received more than once.
    pub duplicated: u64,
}

/// Frames that arrived while their gate was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutOfSlot {
    /// Number of frames.
    pub frames: u64,
    /// The largest distance of a frame from its slot, in ns; 0 if there was none.
    pub worst_ns: u64,
    /// When that frame arrived, in ns from the start of the run; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_at_ns: Option<u64>,
}

impl OutOfSlot {
    pub(crate) fn add(&mut self, margin_ns: u64, at_ns: Option<u64>) {
        self.frames += 1;
        if margin_ns >= self.worst_ns {
            (self.worst_ns, self.worst_at_ns) = (margin_ns, at_ns);
        }
    }
}

/// The phases at which frames arrived in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseSlice {
    /// Its start, in ns from the start of the run.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// Number of frames.
    pub frames: u64,
    /// The earliest phase, in ns.
    pub min_ns: u64,
    /// The median phase, in ns, with the resolution of the phase histogram.
    pub median_ns: u64,
    /// The latest phase, in ns.
    pub max_ns: u64,
}

/// The time from the kernel's dequeueing of a frame to its receive timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DequeueCost {
    /// Number of frames traced.
    pub frames: u64,
    /// The shortest, in ns.
    pub min_ns: u64,
    /// The median, in ns.
    pub median_ns: u64,
    /// The longest, in ns.
    pub max_ns: u64,
}

impl DequeueCost {
    /// The summary of these times; `None` if there are none.
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

/// Frames by the position of their transmission relative to the windows of their class. A transmission begins when the
/// kernel dequeues the frame, or when the frame before it has been sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateCount {
    /// Frames that were dequeued and sent within one window.
    pub inside: u64,
    /// Frames that were sent for longer after the end of a window than the trace's delay explains, with the longest such
    /// time.
    pub outside: OutOfSlot,
    /// Frames that were sent after the end of a window, but for so short a time that they may have been in it: the trace
    /// is somewhat later than the kernel's decision.
    pub undecided: u64,
}

impl GateCount {
    /// Adds a frame that was dequeued and completely sent at these times. `slack_ns` bounds the time for which a frame
    /// seems to be sent after its window because the trace is later than the kernel's decision.
    pub fn add(
        &mut self,
        clock: PhaseClock,
        windows: &[Window],
        (dequeued_ns, sent_ns): (i64, i64),
        slack_ns: u64,
    ) {
        let until_close_ns = until_close_ns(clock.phase_ns(dequeued_ns), windows, clock.cycle_ns);
        let over_ns = until_close_ns.map_or(0, |until_ns| (sent_ns - dequeued_ns).saturating_sub(until_ns));
        match u64::try_from(over_ns).unwrap_or(0) {
            0 => self.inside += 1,
            over_ns if over_ns <= slack_ns => self.undecided += 1,
            over_ns => self.outside.add(over_ns, None),
        }
    }
}

/// The field of a flow that contradicts the others, and why; `None` if all agree.
pub(crate) fn contradiction(flow: &FlowSeries, recorded: u64) -> Option<(&'static str, String)> {
    if flow.cycle_ns == 0 {
        return Some(("kind.cycle_ns", format!("a cycle of 0 in flow '{}'", flow.flow)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transmission_that_hardly_exceeds_its_window_is_undecided() {
        let clock = PhaseClock { base_ns: 0, cycle_ns: 1000 };
        let windows = [Window { open_ns: 900, close_ns: 1300, guard_ns: 50 }];
        let count = |dequeued_ns: i64, sent_ns: i64| {
            let mut count = GateCount::default();
            count.add(clock, &windows, (dequeued_ns, sent_ns), 50);
            (count.inside, count.undecided, count.outside)
        };
        let (none, outside) =
            (OutOfSlot::default(), |worst_ns| OutOfSlot { frames: 1, worst_ns, worst_at_ns: None });
        assert_eq!(count(5_900, 5_950), (1, 0, none));
        assert_eq!(count(6_250, 6_300), (1, 0, none), "its end and that of the window coincide");
        assert_eq!(count(6_270, 6_320), (0, 1, none));
        assert_eq!(count(6_310, 6_350), (0, 1, none));
        assert_eq!(count(6_310, 6_360), (0, 0, outside(60)));
        assert_eq!(count(6_100, 6_351), (0, 0, outside(51)), "it waited for others");
        assert_eq!(count(6_899, 6_950), (0, 0, outside(650)), "before the window opens");
    }

    #[test]
    fn a_gate_that_never_closes_is_always_in_time() {
        let clock = PhaseClock { base_ns: 0, cycle_ns: 1000 };
        let mut count = GateCount::default();
        count.add(clock, &[Window { open_ns: 0, close_ns: 1000, guard_ns: 0 }], (900, 5_000), 50);
        assert_eq!(count, GateCount { inside: 1, ..GateCount::default() });
    }
}
