//! The reaction probe: a thread waits for an edge on one line of a GPIO chip, and answers on another.

mod book;
mod driven;
mod fake;
mod inlet;
mod outlet;
mod stimulus;
mod thread;

pub use stimulus::StimulusThread;
pub use thread::ReactionProbe;
