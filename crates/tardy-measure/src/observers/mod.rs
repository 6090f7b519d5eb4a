//! The observers of a phase.

pub(crate) mod causes;
pub(crate) mod echo;
mod echo_series;
pub(crate) mod levels;
pub(crate) mod pin_guard;
pub(crate) mod samples;
mod synthetic_moment;
mod synthetic_trace;
pub(crate) mod wire;
mod wire_series;
