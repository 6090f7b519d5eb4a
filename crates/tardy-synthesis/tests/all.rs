//! The tests of this crate that use its public functions only.

mod common;
mod fixtures;
mod input;
mod mutations;
mod proofs;
mod search;
mod switch_files;
