//! The tests of this crate that use its public functions only.

mod fixtures;
mod input;
mod instances;
mod keep;
mod mutations;
mod proofs;
mod search;
mod switch_files;
