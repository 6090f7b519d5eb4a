//! GPIO chips, their lines and the lines' consumers; header pins; PWM controllers.

pub mod chips;
pub mod header;
pub mod pwm;

pub use chips::{Found, LineState};
