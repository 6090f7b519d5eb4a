//! Schedules and bounds of time-aware networks as text for the terminal and as a page.

pub mod bounds;
pub mod check;
pub mod synthesis;
