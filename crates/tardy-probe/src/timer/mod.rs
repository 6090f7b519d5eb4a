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

use tardy_record::plan::ClockId;
use tardy_sys::clock::Clock;

pub use thread::{Prepared, TimerThread};
pub(crate) use thread::{refusal, set_other};

/// The clock that a timer measures with.
pub fn sys_clock(clock: ClockId) -> Clock {
    match clock {
        ClockId::Monotonic => Clock::Monotonic,
        ClockId::Realtime => Clock::Realtime,
        ClockId::Tai => Clock::Tai,
    }
}
