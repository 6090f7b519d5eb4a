//! Explains late wake-ups of the lab: which kernel functions they consisted of, instruction by instruction.
//!
//! [`orders`] tells an observer in the emulator what to watch, from the [`kallsyms`] and [`structures`] of the kernel's image.
//! [`observed`] reads what the observer wrote. [`matching`] compares it with the run file, [`execution`] finds the order of execution in
//! a wake-up, [`spans`] who called whom, [`interrupts`] where interrupts were off, `work` what a program did after it, and
//! [`explanation`] puts it together.

mod arrivals;
pub mod block;
pub mod boot;
mod bound;
pub mod census;
pub mod chosen;
pub mod counted;
pub mod coverage;
pub mod execution;
pub mod explanation;
pub mod guest_memory;
pub mod interrupts;
pub mod kallsyms;
mod little_endian;
pub mod matching;
pub mod modules;
pub mod names;
pub mod observed;
pub mod orders;
mod program_cycles;
pub mod spans;
pub mod structures;
#[cfg(test)]
mod synthetic;
pub mod task;
mod timer_hardware;
mod work;
