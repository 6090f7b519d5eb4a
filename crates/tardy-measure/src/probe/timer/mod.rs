//! The timer probe: how late a thread wakes.

mod fake;
pub(crate) mod fake_trace;
mod pace;
pub mod reading;
mod recorder;
mod thread;
mod waiter;

pub use thread::{Prepared, TimerThread};
