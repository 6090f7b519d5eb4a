//! What a network does, frame by frame: events computed instead of waited for.
//!
//! A [`Network`](crate::network::Network) becomes a [`Wiring`](wiring::Wiring), in one of two modes: [`Mode::Standard`] as
//! IEEE 802.1Q has it, or [`Mode::Linux`] as the kernel's software TAPRIO does it. [`engine::run`] runs a wiring and
//! tells a listener of every frame. docs/tsn-simulator.md says what is in the model and what is not.

pub mod agreement;
pub mod engine;
pub mod linux_gates;
pub mod of_network;
mod path;
pub mod recorded;
pub mod replay;
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

/// What a network's ports are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ports {
    /// Network cards: they take a few frames beforehand and send them at the cable's rate.
    #[default]
    Hardware,
    /// What `--netns` makes: veth, which hands frames over at once and is 10 Gbit/s to the kernel, and tap devices, which
    /// are read at the port's rate.
    Virtual,
}

/// How a network is simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whose gates.
    pub mode: Mode,
    /// What the ports are made of; only [`Mode::Linux`] asks.
    pub ports: Ports,
    /// How many frames a network card takes beforehand; 1: only when it has sent the one before.
    pub ring_frames: u32,
    /// How late the kernel's timer opens a gate, in ns.
    pub gate_latency_ns: u64,
    /// When the kernel's timer was seen to fire, in ns on the schedules' clock and in order: what a real one's list has
    /// within a millisecond after its time is when a gate opens. Only for a network with one schedule.
    pub gate_timer_ns: Vec<i64>,
    /// How long the kernel takes to hand a frame over by veth, in ns.
    pub frame_cost_ns: u64,
    /// Up to how much later than its time a talker with a period sends, in ns.
    pub talker_jitter_ns: u64,
    /// How long before the latest base time the simulation starts, in ns.
    pub lead_ns: u64,
    /// When each schedule is replaced by the same again, in ns of the simulation; only in [`Mode::Linux`].
    pub replaced_after_ns: Option<u64>,
    /// Frames that a queue holds.
    pub queue_frames: u32,
    /// Decides what is left to chance: the talkers' jitter, and which of a class's queues a flow goes into.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            ports: Ports::default(),
            // With byte queue limits it is a few.
            ring_frames: 16,
            gate_latency_ns: 0,
            gate_timer_ns: Vec::new(),
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
