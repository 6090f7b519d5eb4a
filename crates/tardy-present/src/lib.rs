//! placeholder
pub mod check;
