//! The probe: a process that only measures.
//!
//! It receives one order ([`order`]), counts into a map of counters ([`cells`]), and reports nothing until the end.
//! Between an order and its end it does not allocate, lock, log, format or fault a page (`tests/undisturbed.rs`).

pub mod cells;
mod end_in_time;
pub mod gpio;
mod level;
pub mod noise;
pub mod order;
mod process;
pub mod reaction;
pub mod sample_ring;
mod thread_setup;
pub mod timer;
pub mod timerlat_thread;
pub mod wiggle;

use std::path::Path;
use std::process::ExitCode;

pub use process::main;

/// Runs the hidden command `words`, by which the supervisor starts a process that measures. `None` if `words` are not one.
pub fn run_command(words: &[&str]) -> Option<ExitCode> {
    Some(match *words {
        ["__probe"] => main(),
        ["__timerlat", supervisor_pid, cpu, priority, file] => timerlat_thread::main(
            supervisor_pid.parse().ok()?,
            cpu.parse().ok()?,
            priority.parse().ok()?,
            Path::new(file),
        ),
        _ => return None,
    })
}
