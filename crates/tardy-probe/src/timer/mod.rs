//! The timer probe: how late a thread wakes.

pub mod fake;
pub mod grid;
mod pace;
pub mod reading;
pub(crate) mod recorder;
mod thread;
mod trace_stopper;
pub mod waiter;
mod wakeup;
pub mod woken;
mod worst_samples;

pub use thread::{Prepared, TimerThread};
pub(crate) use thread::{refusal, set_other};
