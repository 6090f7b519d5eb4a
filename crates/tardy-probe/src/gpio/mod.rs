//! Claiming GPIO lines for a measuring thread, and driving one as a stimulus.
//!
//! Lines are claimed through the character device's second interface (Linux 5.10) with the crate `gpiocdev`, or for
//! comparison through the older sysfs interface ([`sysfs`]). The measured calls are tardy-sys's (`gpio.rs`,
//! `gpio_sysfs.rs`), because those of the crate allocate.

mod claim;
pub mod registers;
pub mod square_wave;
pub mod sysfs;

pub use claim::{CONSUMER, input, input_with_both_edges, input_with_events, output_low, to_input};
