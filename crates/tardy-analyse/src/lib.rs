//! placeholder
pub mod readiness;
