//! Measuring: the engine that runs a plan phase by phase, the sources of readings, and the observers of the machine.
//!
//! Two processes measure. The probe (tardy-probe) is a separate process: real-time threads that wait, read the clock
//! and count, in memory that is locked and touched beforehand. The supervisor ([`engine`]) is the process that the user
//! started: it starts loads, reads watchers, writes checkpoints and reports progress, as SCHED_OTHER on one CPU that
//! the run records. The two share one map of counters and a pipe in each direction, and nothing else.
//!
//! [`run`] is the entry point; `sources/mod.rs` maps each kind of phase to its source, and `measure.rs` to its observers.

pub mod doctor;
pub mod engine;
mod measure;
mod observers;
pub mod pins;
mod probe_program;
pub mod processes;
mod programs;
pub mod recovery;
mod sources;

pub use measure::{run, run_with};
pub use probe_program::ProbeProgram;
pub use programs::{OutputReader, Programs};
pub use sources::OtherSources;

use tardy_host::journal::Kind;

/// How to undo each kind of change that measuring makes: for `tardy restore`.
pub fn undo_kinds() -> Vec<Kind> {
    let mut kinds = tardy_host::undo_kinds();
    kinds.extend(pins::UNDO_KINDS);
    kinds
}
