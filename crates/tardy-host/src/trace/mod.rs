//! The kernel's record of a wake-up: tracefs, a separate trace instance, its pages, the events in them, and the
//! levels and moments that they show.

pub mod cycles;
pub mod events;
pub mod format;
pub mod happenings;
pub mod instance;
pub mod levels;
pub mod moments;
pub mod monitors;
pub mod page;
pub mod reader;
pub mod symbols;
pub mod tracefs;
pub mod tracers;
pub mod tracing;
pub mod user_probe;
