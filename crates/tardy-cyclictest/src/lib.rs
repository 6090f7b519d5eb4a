//! cyclictest's options, and its output from tardy's readings.
//!
//! [`options`] parses the options, whose names and effects `names.rs` lists; [`plan`] makes a plan of them; [`counts`] counts
//! every reading as cyclictest does; [`text`] formats the results. `tardy cyclictest` measures and prints. docs/cyclictest.md lists
//! the intended differences.

pub mod counts;
pub mod cpu_set;
pub mod help;
pub mod idle;
mod names;
pub mod options;
pub mod plan;
pub mod resolution;
pub mod smi;
pub mod spikes;
pub mod stats_pipe;
pub mod status_file;
pub mod text;
mod values;
