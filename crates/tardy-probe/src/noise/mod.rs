//! The noise probe: a loop that reads a counter and notices whenever it stood still.

mod fake;
mod gauge;
mod notes;
mod spin;
mod thread;

pub(super) use fake::FakeGaps;
pub(super) use gauge::Gauge;
pub(super) use notes::Notes;
pub use thread::NoiseProbe;
pub(super) use thread::{ATTEND_NS, FAKE_PAUSE};
