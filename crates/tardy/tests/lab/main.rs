//! The lab on real kernels, as a person meets it.
//!
//! They take minutes and need an emulator, the distribution's kernels and a tardy for the guests, so they run in
//! `make lab-tests`, which is part of `make test`, and not while one edits: without the variable that it sets each of
//! them says that it was skipped. A new test goes where its subject is: what a run shows, the same bytes, ends before
//! time, and costs in counted instructions.

mod agreement;
mod answer_cost;
mod causes;
mod cost;
mod early_ends;
mod guests;
mod noise;
mod own_modules;
mod pins;
mod restore;
mod runs;
mod same_bytes;
mod switch;
mod two_flows;
mod wiggle;
