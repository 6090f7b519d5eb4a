//! placeholder
pub mod facts;
