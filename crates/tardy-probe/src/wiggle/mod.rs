//! The wiggle probe: a thread sets a line high and low in turn. At the deadlines of a timer it is the timer probe's
//! thread, whose wake-ups end in a write (`edges.rs`). As fast as possible, it is a separate loop (`fastest.rs`).

pub(super) mod edges;
mod fake;
mod fastest;
pub(super) mod output;

pub use fake::synthetic_echo;
pub use fastest::FastestWiggle;
