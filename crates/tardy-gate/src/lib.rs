//! Whether runs meet requirements: passed, failed, or not decided by the data.
//!
//! A [`requirement`] is a text such as `p99.9<500us`. [`judge()`] decides it for a run, with the confidence that the requirement
//! names; [`baseline`] decides whether runs are worse than earlier ones. [`forms`] writes the outcome for people and for CI systems.

pub mod baseline;
pub mod forms;
pub mod incomplete;
pub mod judge;
pub mod outcome;
pub mod requirement;
pub mod sentence;

pub use baseline::AgainstBaseline;
pub use judge::{Judgement, judge};
pub use outcome::Outcome;
pub use requirement::Requirement;
