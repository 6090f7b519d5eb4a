//! Schedules for time-aware networks: when each frame is sent on each link, and the gate control lists that keep others away.
//!
//! [`read`] turns files into an [`Instance`]. [`solver::solve`] places its flows, [`gates::of`] computes the gate control list of
//! each port, and [`certificate::find`] looks for a proof that no schedule exists. [`checker`] checks what these return: it
//! contains no code of the solver, and the solver none of it (`xtask/src/independent_checker.rs`). [`answer::find`] does all of it.
//! [`mod@write`] turns a schedule into files. [`keep`] finds the flows of an older schedule that stay where they are, and [`verify`]
//! computes bounds and simulates the written file.
//!
//! [`Instance`]: instance::Instance

pub mod answer;
pub mod certificate;
pub mod checker;
pub mod files;
pub mod gates;
pub mod instance;
pub mod keep;
pub mod lateness;
pub mod proof;
mod random;
pub mod read;
pub mod schedule;
pub mod solver;
pub mod summary;
pub mod verify;
pub mod write;
