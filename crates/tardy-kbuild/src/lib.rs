//! Kernels that a user builds for the lab.
//!
//! [`source`] finds the tree, [`tardy_search::configuration`] is what it is configured with, [`toolchain`] compiles it, and [`build`] does so, unless
//! the cache has a kernel that was made of the same. [`commits`] lists what lies between two commits, and [`differences`] the options
//! in which two builds differ, for bisections.
//!
//! A source is built outside of its tree, in a directory of the cache that stays: after a change of one option or of one commit, make
//! compiles what the change reaches. Time, user and host that a kernel names are fixed.

pub mod build;
pub mod commits;
pub mod differences;
pub mod error;
mod git;
mod kconfig;
mod make;
pub mod source;
pub mod toolchain;
