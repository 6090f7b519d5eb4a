//! What a network does, frame by frame: events computed instead of waited for.
//!
//! A [`Network`](crate::network::Network) becomes a [`Wiring`](wiring::Wiring), in one of two modes: [`Mode::Standard`] as
//! IEEE 802.1Q has it, or [`Mode::Linux`] as the kernel's software TAPRIO does it. [`engine::run`] runs a wiring and
//! tells a listener of every frame. docs/tsn-simulator.md says what is in the model and what is not.

pub mod engine;
pub mod linux_gates;
pub mod standard_gates;
mod talker;
mod tournament;
mod transmitter;
pub mod wiring;

/// Whose gates are simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// IEEE 802.1Q clauses 8.6.8.4 and 8.6.9.
    Standard,
    /// The kernel's software TAPRIO.
    #[default]
    Linux,
}
