//! Loads: what keeps a machine busy while it is measured, and the proof that it did.
//!
//! Every load runs in processes of its own: a supervisor, and under it one worker for each part of each load. They
//! are this same executable, started anew (`tardy __load …`), so that they share nothing with the process that
//! watches — no locked memory, no CPU mask, no policy — and their page tables are nobody else's trouble. They count
//! what they do in memory that the watching process maps ([`tardy_sys::counters`]); reading it wakes nobody.
//!
//! All load processes die with tardy, however it dies. A part that ends other than by its own design is reported and
//! never started again: a load with a hole in it is not the load that was asked for.
//!
//! The roads not taken: threads of the watching process, which would share its memory map and send its unmappings to
//! every CPU; installed tools, which a board may not have and whose rates nobody can read while they run; starting a
//! dead load again, which hides the death in an average.

mod affinity;
mod alone;
mod command;
mod compile;
mod copy;
mod cpu;
mod datagrams;
mod disk;
mod error;
mod forked_tasks;
mod kinds;
mod listing;
mod loads;
mod memory;
mod messages;
mod meter;
mod mprotect;
mod network;
mod orders;
mod ping;
mod ping_in;
mod processes;
mod random;
mod scheduler;
mod signalling;
mod sink;
mod spec;
mod stream;
mod supervisor;
mod tail;
mod timers;
pub mod worker;

pub use alone::run_alone;
pub use error::LoadError;
pub use kinds::{KNOWN, Known};
pub use loads::{LoadContext, Loads};
pub use network::PORT;
pub use spec::{LoadSpec, parse};
