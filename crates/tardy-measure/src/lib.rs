//! Measures this machine.

pub mod load;
