//! Instances from files.

pub mod network;
pub mod tables;
pub mod tsnkit;
