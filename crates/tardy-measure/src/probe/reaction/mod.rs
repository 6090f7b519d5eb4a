//! The reaction probe: a thread waits for an edge on one line of a GPIO chip, and answers on another.

mod book;
mod fake;
mod inlet;
mod storm;
mod thread;

pub(crate) use storm::{STORM_PER_SECOND, Storm};
pub use thread::ReactionProbe;
