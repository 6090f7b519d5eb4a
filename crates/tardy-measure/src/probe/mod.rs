//! The probe: a process that does nothing but measure.

pub mod cells;
pub mod noise;
pub mod order;
mod process;
pub mod sample_ring;
pub mod timer;
pub mod timerlat_thread;

pub use process::main;
