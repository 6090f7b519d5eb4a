//! A discrete-event simulation of a network, frame by frame.
//!
//! A [`Network`](crate::network::Network) becomes a [`Wiring`](wiring::Wiring), in one of two modes:
//! [`Mode::Standard`] follows IEEE 802.1Q, [`Mode::Linux`] the kernel's software TAPRIO. [`engine::run`] runs a
//! wiring and reports every frame to a listener. docs/tsn-simulator.md lists what the model includes.

pub mod agreement;
mod credit;
pub mod engine;
mod event_queue;
pub mod fragments;
pub mod linux_gates;
pub mod of_network;
mod path;
pub mod recorded;
pub mod replay;
pub mod standard_gates;
mod talker;
mod transmitter;
pub mod wiring;

pub use crate::port_model::{Mode, Ports};

/// How a network is simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The model of the gates.
    pub mode: Mode,
    /// The devices of the ports; only for [`Mode::Linux`].
    pub ports: Ports,
    /// The number of frames in a network card's ring; 1: it accepts a frame when the previous one has been sent.
    pub ring_frames: u32,
    /// The latency of the kernel's timer that opens a gate, in ns.
    pub gate_latency_ns: u64,
    /// All times at which the kernel's gate timer fired up to some time, in ns on the schedules' clock and in ascending
    /// order. A gate opens at the first of them that is not before its own time, and after the last one with the latency
    /// above. Only if one schedule is simulated.
    pub gate_timer_ns: Vec<i64>,
    /// When the kernel accepted the schedules, in ns on their clock: each begins with the next start of its cycle.
    /// `None`: they have run for at least a cycle. Only in [`Mode::Linux`], where the phase of a list that is shorter
    /// than its cycle depends on it.
    pub installed_ns: Option<i64>,
    /// The kernel's processing time for a frame through veth, in ns.
    pub frame_cost_ns: u64,
    /// The largest random delay of a periodic talker, in ns.
    pub talker_jitter_ns: u64,
    /// How long before the latest base time the simulation starts, in ns.
    pub lead_ns: u64,
    /// When each schedule is replaced by an equal one, in ns of the simulation; only in [`Mode::Linux`].
    pub replaced_after_ns: Option<u64>,
    /// The capacity of a queue, in frames; that of a tap device is at most 500.
    pub queue_frames: u32,
    /// The seed of random choices: the talkers' jitter, and the queue of a class that a flow uses.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            ports: Ports::default(),
            // With byte queue limits a ring holds only a few frames.
            ring_frames: 16,
            gate_latency_ns: 0,
            gate_timer_ns: Vec::new(),
            installed_ns: None,
            frame_cost_ns: 0,
            talker_jitter_ns: 0,
            lead_ns: 0,
            replaced_after_ns: None,
            // `txqueuelen` of a new link.
            queue_frames: 1000,
            seed: 1,
        }
    }
}
