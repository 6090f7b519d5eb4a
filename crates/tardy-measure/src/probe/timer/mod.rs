//! The timer probe: how late a thread wakes.

mod fake;
pub(crate) mod fake_trace;
pub(crate) mod grid;
mod pace;
pub mod reading;
pub(crate) mod recorder;
mod thread;
mod trace_stopper;
pub(super) mod waiter;
mod worst_samples;

pub(crate) use thread::refusal;
pub use thread::{Prepared, TimerThread};
