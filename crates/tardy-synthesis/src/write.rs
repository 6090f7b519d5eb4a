//! Schedules as files.

pub mod switch_file;
pub mod tsnkit;
