//! Lines of GPIO chips: which there are and who has them, claiming them, and giving them back as inputs.
//!
//! The character device's second interface is spoken (Linux 5.10), through the crate `gpiocdev`, and for comparison the
//! older one in sysfs ([`sysfs`]); the calls that are measured are tardy-sys's (`gpio.rs`, `gpio_sysfs.rs`), since the
//! crate's allocate.

pub mod boards;
pub mod chips;
mod claim;
mod guard;
pub mod header;
pub mod pwm;
pub(crate) mod square_wave;
mod stimulate;
pub mod sysfs;

pub use chips::{Found, LineState};
pub use claim::{CONSUMER, input, input_with_both_edges, input_with_events, output_low};
pub use guard::{PinGuard, held_by, main as guard_main, put_back, stop_pwm, unexport};
pub use stimulate::{Stimulated, Stimulation, stimulate};
