//! What the simulator runs: transmitters joined by cables, and flows with their ways through them.
//!
//! One step below a [`Network`](crate::network::Network): every frame of a flow takes the same way, and all that can be
//! known of a frame before the simulation starts is in its [`Hop`]s.

use std::fmt;

use super::linux_gates::KernelSchedule;
use super::standard_gates::Windows;
use crate::placed::Span;

/// Why a network cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WiringError {
    /// Where in the file.
    pub span: Span,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for WiringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for WiringError {}

/// Preamble and start delimiter, frame check sequence and gap: what a frame takes on a wire beyond its own bytes.
pub const WIRE_OVERHEAD_BYTES: u32 = 24;

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Wiring {
    /// What sends: ports of switches, and hosts' interfaces.
    pub transmitters: Vec<Transmitter>,
    /// The hops of all flows, each flow's one behind another.
    pub hops: Vec<Hop>,
    /// The flows.
    pub streams: Vec<Stream>,
    /// What time 0 of the simulation is, in ns on the schedules' clock.
    pub zero_ns: i64,
}

/// What sends into a cable.
#[derive(Clone, Debug)]
pub struct Transmitter {
    /// Its name, for people: `switch/interface`, or the host's.
    pub name: String,
    /// Time from a frame's last bit on this side of the cable to its place in the queue on the other.
    pub delay_ns: u64,
    /// How frames are chosen.
    pub discipline: Discipline,
    /// What becomes of a chosen frame.
    pub device: Device,
    /// The queues of each class. A class that flows use has at least one.
    pub classes: Vec<ClassQueues>,
    /// Frames that a queue holds; more are dropped.
    pub queue_frames: u32,
}

/// Where a class's queues are among a transmitter's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassQueues {
    /// The first.
    pub first: u16,
    /// How many.
    pub count: u16,
}

/// How a transmitter chooses the next frame.
#[derive(Clone, Debug)]
pub enum Discipline {
    /// The highest class that has one.
    Priority,
    /// The standard's gates.
    Standard(Windows),
    /// The kernel's software TAPRIO.
    Linux(Box<KernelSchedule>),
}

/// What a transmitter's device does with a frame that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Sends one frame at a time at the cable's rate, and is given the next when it is done.
    Mac,
    /// Takes up to so many frames into a ring, and sends them at the cable's rate.
    Ring(u32),
    /// Hands frames over at once, as veth does, and takes so many ns for each.
    Instant(u64),
    /// Hands frames over at once, as long as a bucket of so many ps holds the time that each would take at the cable's
    /// rate: tc-tbf(8). Only for a transmitter of one class with one queue.
    Bucket(u64),
}

/// A transmitter on a flow's way.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// [`Wiring::transmitters`], by its place there.
    pub transmitter: u32,
    /// The class that the flow's frames come into there.
    pub class: u8,
    /// The queue, among the transmitter's.
    pub queue: u16,
    /// Whether the listener is at the other end.
    pub last: bool,
    /// How long a frame takes on the wire, in ps.
    pub wire_ps: u64,
    /// The bytes that the kernel holds against a class's longest frame (`skb->len`).
    pub kernel_bytes: u32,
    /// The bytes that the kernel charges (`qdisc_pkt_len`): with the size table's overhead.
    pub charged_bytes: u32,
    /// The longest service data unit of its class, in bytes with the Ethernet header; the standard's.
    pub longest_bytes: u32,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its first hop in [`Wiring::hops`].
    pub first_hop: u32,
    /// How many hops; 0 for a flow that gets nowhere.
    pub hops: u16,
    /// Bytes of a frame on the wire where it is received, overhead included.
    pub wire_bytes: u32,
    /// When its talker sends.
    pub release: Release,
}

/// When a talker sends.
#[derive(Clone, Debug)]
pub enum Release {
    /// Whenever its cable is free.
    FlatOut,
    /// In every period at each of `offsets_ns`, which are in ascending order and below the period.
    Periodic {
        /// The period; not 0.
        period_ns: u64,
        /// When in the period, counted from time 0.
        offsets_ns: Vec<u64>,
        /// Frames at each, back to back.
        frames: u32,
        /// Each burst comes later by up to so much, at random.
        jitter_ns: u64,
    },
    /// One frame at each of these times, in ascending order: a talker that was observed.
    Recorded(Vec<u64>),
}

/// How long so many bytes take at so many bit/s, in ps, rounded up.
pub fn wire_ps(bytes: u32, bits_per_second: u64) -> u64 {
    let ps = (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(bits_per_second.max(1)));
    u64::try_from(ps).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_takes_123_us_at_100_megabit() {
        assert_eq!(wire_ps(1514 + WIRE_OVERHEAD_BYTES, 100_000_000), 123_040_000);
        assert_eq!(wire_ps(64, 10_000_000_000), 51_200);
    }
}
