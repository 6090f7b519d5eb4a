//! placeholder
pub mod facts;
pub mod watch;
