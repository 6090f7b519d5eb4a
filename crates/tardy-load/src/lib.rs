//! Loads keep a machine busy during a measurement, and count their work as evidence.
//!
//! Every load runs in separate processes: one parent, and below it a worker for each part of each load. They are this
//! executable, started again (`tardy __load …`), so they share no locked memory, CPU mask or policy with the
//! supervisor, and their page-table changes do not interrupt it. They count their work in memory that the supervisor
//! maps ([`tardy_sys::counters`]); reading it wakes no process.
//!
//! All load processes end with tardy, even if tardy is killed. A part that ends unexpectedly is reported and not restarted: a
//! load with a gap is not the requested load. "The article" in these modules is the AT91SAM article whose script `doload`
//! reproduces (docs/loads.md).
//!
//! Alternatives not taken: threads of the supervisor, which would share its memory map and send TLB shootdowns to every
//! CPU; installed tools, which a board may lack and whose rates cannot be read while they run; restarting a dead load,
//! which hides the death in an average.

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
mod invocation;
mod listing;
mod load_parent;
mod loads;
mod memory;
mod messages;
mod meter;
mod mprotect;
mod network;
mod orders;
mod peer;
mod ping;
mod ping_in;
mod processes;
mod random;
mod scheduler;
mod signalling;
mod sink;
mod start;
mod stream;

mod tail;
mod task;
mod timers;
mod worker;

pub use alone::run_alone;
pub use error::LoadError;
pub use invocation::{commands, quoted};
pub use loads::{LoadContext, LoadRate, Loads};
pub use network::PORT;
pub use start::worker_main;
pub use task::check_programs;
