//! Probes, loads and watchers, and the house that they live in.
//!
//! Two processes measure. The probe ([`probe`]) is a process of its own: real-time threads that wait, read the clock
//! and count, in memory that is locked and touched beforehand. The house ([`run`]) is the process that the person
//! started: it starts loads, reads watchers, writes checkpoints and talks, as SCHED_OTHER on one named CPU. They
//! share one map of counters and a pipe each way, and nothing else.

pub mod co_kernel;
pub mod doctor;
pub mod facts;
pub mod gpio;
pub mod journal;
pub mod load;
pub mod probe;
pub mod run;
pub mod switch;
pub mod trace;
pub mod watch;
