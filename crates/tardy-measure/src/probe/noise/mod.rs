//! The noise probe: a loop that reads a counter and notices whenever it stood still.

mod fake;
mod spin;
mod thread;

pub use thread::NoiseProbe;
