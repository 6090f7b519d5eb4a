//! The input of the simulator: transmitters connected by cables, and flows with their routes.
//!
//! A wiring contains more detail than a [`Network`](crate::network::Network): all properties of a flow's frames that
//! are known before the simulation starts are in the [`Hop`]s of its route.

use std::fmt;

use super::linux_gates::KernelSchedule;
use super::standard_gates::Windows;
use crate::span::Span;
use crate::transmission_time::OnCable;

/// Why a network cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WiringError {
    /// The place in the file.
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

/// The whole input.
#[derive(Clone, Debug, Default)]
pub struct Wiring {
    /// Ports of switches, and hosts' interfaces.
    pub transmitters: Vec<Transmitter>,
    /// The hops of all flows, flow after flow.
    pub hops: Vec<Hop>,
    /// The flows.
    pub streams: Vec<Stream>,
    /// The time of the schedules' clock at time 0 of the simulation, in ns.
    pub zero_ns: i64,
}

/// A sender into a cable.
#[derive(Clone, Debug)]
pub struct Transmitter {
    /// Its name in messages: `switch/interface`, or the host's.
    pub name: String,
    /// Time from a frame's last bit at this end of the cable to its arrival in the queue at the other end.
    pub delay_ns: u64,
    /// How frames are chosen.
    pub discipline: Discipline,
    /// How the device sends a chosen frame.
    pub device: Device,
    /// The queues of each class. A class that flows use has at least one.
    pub classes: Vec<ClassQueues>,
    /// The capacity of a queue, in frames; further frames are dropped.
    pub queue_frames: u32,
    /// What its classes have in addition to gates.
    pub class_rules: ClassRules,
}

/// What the classes of a port have in addition to gates; only with [`Discipline::Standard`] and [`Device::Mac`], for classes whose gates
/// are always open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassRules {
    /// The rate of the cable, in bit/s.
    pub bits_per_second: u64,
    /// The rate of each class's credit-based shaper, in bit/s; empty: no class has one.
    pub idle_slopes: Vec<Option<u64>>,
    /// A bit for each class whose frames express frames may interrupt.
    pub preemptible: u32,
}

impl ClassRules {
    /// Whether gates are all that there is.
    pub fn is_empty(&self) -> bool {
        self.idle_slopes.is_empty() && self.preemptible == 0
    }

    /// Whether express frames may interrupt those of a class.
    pub fn is_preemptible(&self, class: usize) -> bool {
        class < 32 && self.preemptible >> class & 1 == 1
    }
}

/// The queues of a class, among those of its transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassQueues {
    /// The first queue.
    pub first: u16,
    /// The number of queues.
    pub count: u16,
}

/// How a transmitter chooses the next frame.
#[derive(Clone, Debug)]
pub enum Discipline {
    /// The highest class with a frame.
    Priority,
    /// The standard's gates.
    Standard(Windows),
    /// The kernel's software TAPRIO.
    Linux(Box<KernelSchedule>),
}

/// How a transmitter's device sends frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Sends one frame at a time at the cable's rate, and accepts the next when it has finished.
    Mac,
    /// Accepts frames into a ring of this size, and sends them at the cable's rate.
    Ring(u32),
    /// Delivers frames at once, as veth does, and takes this many ns for each.
    Instant(u64),
    /// A token bucket (tc-tbf(8)) with a capacity of this transmission time, in ps: delivers a frame at once if the
    /// bucket holds the frame's transmission time at the cable's rate. Only for a transmitter of one class with one
    /// queue.
    Bucket(u64),
}

/// A transmitter on a flow's route.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Index in [`Wiring::transmitters`].
    pub transmitter: u32,
    /// The class of the flow's frames there.
    pub class: u8,
    /// The queue, among those of the transmitter.
    pub queue: u16,
    /// Whether the listener is at the other end.
    pub last: bool,
    /// How long a frame takes.
    pub on_cable: OnCable,
    /// The bytes that the kernel compares with a class's longest frame (`skb->len`).
    pub kernel_bytes: u32,
    /// The bytes that the kernel charges (`qdisc_pkt_len`), with the size table's overhead.
    pub charged_bytes: u32,
    /// The longest service data unit of its class, in bytes with the Ethernet header; for the standard's gates.
    pub longest_bytes: u32,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Index of its first hop in [`Wiring::hops`].
    pub first_hop: u32,
    /// The number of hops; 0 for a flow without a route.
    pub hops: u16,
    /// Bytes of a frame on the wire at the listener, with overhead.
    pub wire_bytes: u32,
    /// When its talker sends.
    pub release: Release,
}

/// When a talker sends.
#[derive(Clone, Debug)]
pub enum Release {
    /// Whenever its cable is free.
    FlatOut,
    /// At each of `offsets_ns` in every period.
    Periodic {
        /// The period, in ns; not 0.
        period_ns: u64,
        /// Offsets in the period, in ns from time 0, in ascending order and below the period.
        offsets_ns: Vec<u64>,
        /// Frames in each burst, back to back.
        frames: u32,
        /// The largest random delay of a burst, in ns.
        jitter_ns: u64,
    },
    /// One frame at each of these times, in ascending order: an observed talker.
    Recorded(Vec<u64>),
}
