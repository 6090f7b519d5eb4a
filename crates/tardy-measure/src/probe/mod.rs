//! The probe: a process that does nothing but measure.

pub mod cells;
mod end_in_time;
mod level;
pub mod noise;
pub mod order;
mod process;
pub mod reaction;
pub mod sample_ring;
mod seat;
pub mod timer;
pub mod timerlat_thread;
pub mod wiggle;

pub use process::main;
