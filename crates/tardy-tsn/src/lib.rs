//! A time-aware switch as data: the file that describes it, and what is to be set on the kernel for it.
//!
//! A file ([`file::parse`]) becomes a [`Network`]: switches with their ports, traffic classes and gate control lists
//! (IEEE 802.1Q clause 8.6.8.4), hosts, links and flows. From a switch of it [`settings::of`] makes [`Settings`]: what
//! the kernel is to be told, in the kernel's own numbers. [`check::check`] says what the kernel would refuse, and what it
//! would accept and get wrong. Nothing here reads a file, asks a clock or talks to a kernel:
//! the same text gives the same answers on every machine.
//!
//! [`Network`]: network::Network
//! [`Settings`]: settings::Settings

pub mod check;
pub mod classify;
pub mod file;
pub mod generate;
pub mod kernel_modules;
pub mod network;
pub mod placed;
pub mod plan;
mod random;
pub mod route;
pub mod settings;
pub mod simulate;
pub mod transmission_time;
pub mod tsnkit;
