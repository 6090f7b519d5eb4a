//! The timer probe: how late a thread wakes.

mod fake;
mod pace;
pub mod reading;
mod recorder;
mod thread;
mod waiter;

pub use thread::{Prepared, TimerThread};
