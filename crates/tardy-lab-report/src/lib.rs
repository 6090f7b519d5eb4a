//! What the lab finds, as text for the terminal and as pages: sweeps, bisections, and which instructions a wake-up takes.

pub mod bisection;
pub mod explanation;
pub mod sweep;
