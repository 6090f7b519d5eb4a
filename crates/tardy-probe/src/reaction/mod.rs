//! The reaction probe: a thread waits for an edge on one line of a GPIO chip, and answers on another.

mod driven;
mod edge_accounting;
mod edge_source;
mod fake;
mod stimulus;
mod storm;
mod thread;

pub use stimulus::StimulusThread;
pub use storm::{STORM_PER_SECOND, Storm};
pub use thread::ReactionProbe;
