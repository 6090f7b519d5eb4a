//! The machine under test: its facts, its activity during a run, and the settings that tardy has changed on it.
//!
//! [`facts`] are collected once, [`watch`] reads counters every second, [`trace`] reads the kernel's events. Every
//! setting that tardy changes is written to the [`journal`] first, and has a guard that restores it ([`settings`]).
//! Nothing here measures latency.

pub mod cgroups;
pub mod co_kernel;
pub mod container;
pub mod cpus;
pub mod facts;
pub mod gpio;
pub mod journal;
pub mod ptp_log;
pub mod settings;
pub mod trace;
pub mod watch;

use journal::Kind;

/// How to undo each kind of change that this crate makes.
pub fn undo_kinds() -> Vec<Kind> {
    vec![trace::instance::UNDO, trace::user_probe::UNDO, settings::REPLACED_FILE, settings::THREAD_RANK]
}
