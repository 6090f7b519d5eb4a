//! What is to be set for a switch, in words that a person can read: commands, the standard's YANG, and the message to the
//! kernel field by field.

pub mod commands;
pub mod message;
pub mod yang;
