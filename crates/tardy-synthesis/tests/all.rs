//! The tests of this crate that use its public functions only.

mod best_effort;
mod fixtures;
mod input;
mod instances;
mod keep;
mod latency;
mod mutations;
mod proofs;
mod search;
mod switch_files;
