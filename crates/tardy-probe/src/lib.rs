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

pub use process::main;
