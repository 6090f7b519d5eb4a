//! Several runs against each other: side by side, as two groups of boots, ranked, or as trials of changes.
//!
//! All functions depend only on runs and options; they do no I/O and read no clock. Numbers of one run come from
//! tardy-analyse. `docs/statistics.md` describes the statistics, their sources and their assumptions.

pub mod comparability;
pub mod difference;
pub mod doctor;
pub mod explanations;
pub mod history;
pub mod overview;
mod pairing;
pub mod recommend;
pub mod seeds;
pub mod shape;
pub mod side_by_side;
pub mod signed_rank;
pub mod versus;

pub use side_by_side::Comparison;
