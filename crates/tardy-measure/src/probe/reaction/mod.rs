//! The reaction probe: a thread waits for an edge on one line of a GPIO chip, and answers on another.

mod book;
mod fake;
mod inlet;
mod thread;

pub use thread::ReactionProbe;
