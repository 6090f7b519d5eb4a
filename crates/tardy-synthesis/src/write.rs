//! Schedules as files.

pub mod tsnkit;
