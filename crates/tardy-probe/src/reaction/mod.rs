//! The reaction probe: a thread waits for an edge on one line of a GPIO chip, and answers on another.

mod book;
mod driven;
mod fake;
mod inlet;
mod stimulus;
mod storm;
mod thread;

pub use stimulus::StimulusThread;
pub use storm::{STORM_PER_SECOND, Storm};
pub use thread::ReactionProbe;
