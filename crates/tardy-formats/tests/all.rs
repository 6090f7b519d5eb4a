//! Tests of the formats of other tools, in one program, so that it is linked once. `memory.rs` is a program of its own:
//! it measures its process.

mod captures;
mod contradictions;
mod cut_off;
mod fixtures;
mod hostile;
mod round_trips;
mod strangers;
mod tools;
