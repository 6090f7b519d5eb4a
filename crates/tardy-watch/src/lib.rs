//! Watching that stays on in production: one run after the other, the last causes of late cycles, and a command that is
//! started when something is late.
//!
//! [`watcher`] receives what a watched program did and writes runs; [`ring`] keeps the last late cycles; [`late_command`]
//! starts the user's command; [`response`] decides when; [`late_wake_ups`] does the same for tardy's own probe; [`from_proc`] is
//! what is left without the kernel's trace.

#![forbid(unsafe_code)]

pub mod from_proc;
pub mod late_command;
pub mod late_wake_ups;
pub mod response;
pub mod ring;
pub mod watcher;
