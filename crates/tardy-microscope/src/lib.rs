//! Explains late wake-ups of the lab.

pub mod block;
pub mod chosen;
pub mod execution;
pub mod explanation;
pub mod interrupts;
pub mod kallsyms;
pub mod matching;
pub mod names;
pub mod observed;
pub mod orders;
pub mod spans;
pub mod structures;
