//! Watches a user's program through the kernel's events: its periodic threads, their cycles, and the causes of late ones.
//!
//! [`trace`] records and decodes events; [`tracker`] follows threads and CPUs through them and yields cycles; [`causes`]
//! explains a cycle; [`chain`] follows its work from thread to thread; [`recorder`], [`chain_recorder`] and [`mark`] make series;
//! [`session`] runs all of it and returns the run. All but [`trace`], [`targets`], [`places`], [`procfs`], [`program`], [`quota`], [`probe_search`], [`reader`] and
//! [`session`] are functions of events.

#![forbid(unsafe_code)]

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod binary;
pub mod causes;
pub mod chain;
pub mod chain_recorder;
pub mod cost;
pub mod cpu;
pub mod cycle;
pub mod elf;
pub mod event;
pub mod habits;
pub mod layout;
pub mod mappings;
pub mod mark;
pub mod mark_text;
pub mod moments;
pub mod no_rhythm;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod place;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod places;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "places_of_other_processors.rs"]
pub mod places;
pub mod probe_search;
pub mod procfs;
pub mod program;
pub mod quota;
pub mod reader;
pub mod recorder;
pub mod rhythm;
pub mod rules;
pub mod run;
pub mod session;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod source_lines;
mod status;
pub mod targets;
pub mod thread;
pub mod trace;
pub mod tracker;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod unwinding;
pub mod usdt;
pub mod usual;
pub mod wait;
mod wait_text;

// The numbers of system calls are those of the machine that recorded it.
#[cfg(all(test, target_arch = "x86_64"))]
mod recorded_tests;
#[cfg(test)]
mod tests;
