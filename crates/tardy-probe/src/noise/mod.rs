//! The noise probe: a loop that reads a counter and detects gaps between two readings.

mod fake;
mod gap_recorder;
mod loop_calibration;
mod spin;
mod thread;

pub(super) use fake::FakeGaps;
pub(super) use gap_recorder::GapRecorder;
pub(super) use loop_calibration::LoopCalibration;
pub use thread::NoiseProbe;
pub(super) use thread::{ATTEND_NS, FAKE_PAUSE};
