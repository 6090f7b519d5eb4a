//! Which kernel, option or commit made it worse.
//!
//! [`measure`] is a number of a run, and the condition that calls a run bad. [`bisection`] finds the first bad one in an ordered
//! list, [`delta`] the smallest set of differences that makes a run bad, [`sweep`] the settings to try and their order afterwards.
//! [`parameters`] are the differences of two command lines. Nothing here runs anything: the caller asks what to try next, runs it, and
//! reports the verdict. So the same search works on Debian's kernels, on words of a command line, on options of a configuration and
//! on commits, and its tests need no kernel.

pub mod bisection;
pub mod configuration;
pub mod delta;
pub mod kernel_history;
pub mod measure;
pub mod outcome;
pub mod parameters;
pub mod sweep;

/// What a run showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The condition does not hold.
    Good,
    /// The condition holds.
    Bad,
    /// It could not be run, or its numbers cannot be used.
    Untestable,
}
