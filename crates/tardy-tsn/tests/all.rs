//! Tests of switches' files, rules and plans, in one program, so that it is linked once.

mod files;
mod findings;
mod plans;
mod simulation;
mod tsnkit;
mod yang;
