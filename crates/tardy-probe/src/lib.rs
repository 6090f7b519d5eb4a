//! The probe: a process that does nothing but measure.
//!
//! One order comes in ([`order`]), the counts go into a map of counters ([`cells`]), and nothing is said until the end.
//! Between an order and its end nothing here allocates, locks, logs, formats or faults a page (`tests/undisturbed.rs`).

pub mod cells;
mod end_in_time;
pub mod gpio;
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
