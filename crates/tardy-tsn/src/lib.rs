//! A time-aware switch as data: the file that describes it, and the kernel settings that follow from it.
//!
//! A file ([`file::parse`]) becomes a [`Network`]: switches with their ports, traffic classes and gate control lists
//! (IEEE 802.1Q clause 8.6.8.4), hosts, links and flows. [`settings::of`] turns a switch into [`Settings`], in the
//! kernel's own numbers. [`check::check`] lists what the kernel would refuse, and what it would accept but execute
//! wrongly. This crate reads no file and no clock and makes no system call: the same text gives the same results on
//! every machine.
//!
//! [`Network`]: network::Network
//! [`Settings`]: settings::Settings

pub mod check;
pub mod class_queueing;
pub mod classify;
pub mod file;
pub mod generate;
pub mod intervals;
pub mod kernel_modules;
pub mod network;
pub mod plan;
pub mod port_model;
mod random;
pub mod route;
pub mod settings;
pub mod simulate;
pub mod span;
pub mod transmission_time;
pub mod tsnkit;
