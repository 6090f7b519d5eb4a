//! The settings of a switch in readable form: commands, the standard's YANG, and the message to the kernel field by
//! field.

pub mod commands;
pub mod message;
pub mod yang;
