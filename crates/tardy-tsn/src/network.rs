//! The model of a switch file: switches, their ports and schedules, hosts, links and flows.
//!
//! The model contains what the file states, including mistakes that a kernel would accept: [`crate::check`] reports
//! them. The parser refuses only values without a meaning, such as a flow to a host that does not exist, or a duration
//! without a unit.

use std::net::IpAddr;

use tardy_record::gates::{self, AfterLast, GateEntry, Openings};
use tardy_record::plan::{FlowLimits, FlowPlan, Misclassified};

use crate::span::{Located, Span};

/// The most traffic classes and priorities (`TC_QOPT_MAX_QUEUE` and `TC_BITMASK` + 1 in `linux/pkt_sched.h`).
pub const CLASSES_MAX: usize = 16;

/// The contents of one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// A description in one sentence.
    pub about: String,
    /// Ids of published results that the file reproduces (`data/published.toml`).
    pub published: Vec<String>,
    /// Notes for the user.
    pub notes: String,
    /// The switches; at least one.
    pub switches: Vec<Switch>,
    /// Talkers and listeners.
    pub hosts: Vec<Host>,
    /// Cables, from the ports' `to` keys.
    pub links: Vec<Link>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// How a virtual experiment is built.
    pub netns: Netns,
}

/// One bridge with its ports.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Its name, which is also that of its bridge device.
    pub name: Located<String>,
    /// The bridge that forwards frames.
    pub bridge: Bridge,
    /// Time from the arrival of a frame's last bit to its entry into the egress port's queue, in ns; for the simulator.
    pub forwarding_ns: u64,
    /// Traffic classes; the index is the class's number.
    pub classes: Vec<Class>,
    /// Traffic class of each priority from 0; the kernel assigns class 0 to priorities beyond its end.
    pub priority_map: Located<Vec<Located<u8>>>,
    /// Rules that give frames their priority: the first match decides. A frame without a match has priority 0.
    pub classifiers: Vec<Classifier>,
    /// Its ports.
    pub ports: Vec<Port>,
}

/// The bridge that forwards frames between the ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bridge {
    /// The kernel's bridge.
    #[default]
    Kernel,
    /// Open vSwitch.
    OpenVSwitch,
}

/// A traffic class.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name in the file, or its number.
    pub name: Located<String>,
    /// Transmit queues of the class; `None`: one, with the number of the class.
    pub queues: Option<Located<QueueRange>>,
    /// Longest service data unit in bytes, without the 14 bytes of Ethernet header; longer frames are dropped.
    pub max_sdu: Option<Located<u32>>,
    /// Its queues send frames at their transmit times (ETF), and get them from the shaper this long before, in ns.
    pub etf_delta_ns: Option<Located<u32>>,
    /// Its queues have a credit-based shaper (802.1Qav) with this rate, in bits per second.
    pub idle_slope: Option<Located<u64>>,
    /// Whether frames of express classes may interrupt its frames (802.1Qbu).
    pub preemptible: Option<Located<bool>>,
    /// Its place in the file.
    pub span: Span,
}

/// `count@offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRange {
    /// The number of transmit queues.
    pub count: u16,
    /// The first transmit queue.
    pub offset: u16,
}

/// One port of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// The network interface.
    pub interface: Located<String>,
    /// Its speed.
    pub speed: Located<Speed>,
    /// Its number of transmit queues; tardy creates a virtual port with this number.
    pub queues: Option<Located<u16>>,
    /// Propagation time of a bit to the other end of the cable, in ns.
    pub propagation_ns: u64,
    /// Its VLANs; if empty, all frames pass unchanged.
    pub vlans: PortVlans,
    /// Its gate control list; `None`: all gates are always open.
    pub schedule: Option<Schedule>,
    /// Its place in the file.
    pub span: Span,
}

/// The speed of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speed {
    /// Not in the file: the speed that the kernel reports.
    #[default]
    AsKernelSays,
    /// The file states that it is unknown. TAPRIO then assumes 10 Mbit/s.
    Unknown,
    /// Known.
    BitsPerSecond(u64),
}

impl Speed {
    /// The speed in bits per second; `None` if it is not known.
    pub fn known(self) -> Option<u64> {
        match self {
            Self::BitsPerSecond(rate) => Some(rate),
            Self::AsKernelSays | Self::Unknown => None,
        }
    }
}

/// VLANs of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortVlans {
    /// The VLAN of frames that arrive or leave without a tag.
    pub untagged: Option<Located<u16>>,
    /// VLANs whose frames leave with a tag.
    pub tagged: Vec<Located<u16>>,
}

impl PortVlans {
    /// Whether the file has no VLANs for this port.
    pub fn is_empty(&self) -> bool {
        self.untagged.is_none() && self.tagged.is_empty()
    }
}

/// A port's gate control list and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The gate control list, in order.
    pub entries: Vec<ScheduleEntry>,
    /// The place of the list in the file.
    pub gates_span: Span,
    /// The start of a cycle, past or future: nanoseconds since the clock's zero.
    pub base_time_ns: Located<i64>,
    /// Length of a cycle as written; `None`: the sum of the entries.
    pub cycle_time_ns: Option<Located<u64>>,
    /// By how much the last cycle before a new schedule can be extended.
    pub cycle_time_extension_ns: Option<Located<u64>>,
    /// The clock of base time and gates; `None`: no clock is sent to the kernel.
    pub clock: Option<Located<Clock>>,
    /// Bytes of a frame on the wire that the kernel does not count: preamble and start delimiter 8, frame check
    /// sequence 4, gap 12.
    pub overhead: Located<u32>,
    /// TAPRIO's flags: 0 for software, 1 for transmit times with ETF, 2 for hardware offload.
    pub flags: Located<u32>,
    /// With flags 1: how long before its transmit time a frame can reach ETF.
    pub txtime_delay_ns: Option<Located<u32>>,
}

impl Schedule {
    /// Sum of the entries' durations, in ns.
    pub fn sum_ns(&self) -> u64 {
        gates::sum_ns(&self.gate_entries())
    }

    /// Length of a cycle, in ns: as written, or otherwise the sum of the entries.
    pub fn cycle_ns(&self) -> u64 {
        self.cycle_time_ns.as_ref().map_or_else(|| self.sum_ns(), |cycle| cycle.value)
    }

    /// The gate control list without its places in the file.
    pub fn gate_entries(&self) -> Vec<GateEntry> {
        self.entries.iter().map(|entry| entry.entry).collect()
    }

    /// How long each entry runs, in ns: a cycle time that is shorter than the sum of the entries cuts the list. Linux's
    /// software TAPRIO ignores a longer one.
    pub fn running_ns(&self) -> Vec<u64> {
        gates::running_ns(&self.gate_entries(), self.written_cycle_ns(), self.after_last())
    }

    /// When the gate of `class` is open.
    pub fn openings(&self, class: usize) -> Openings {
        let class = u8::try_from(class).unwrap_or(u8::MAX);
        Openings::of(&self.gate_entries(), self.written_cycle_ns(), self.after_last(), class)
    }

    /// Hardware follows the standard, and Linux's software TAPRIO does not.
    fn after_last(&self) -> AfterLast {
        if self.is_in_hardware() { AfterLast::Hold } else { AfterLast::Restart }
    }

    /// The cycle time as written, in ns; 0 if it is not written.
    fn written_cycle_ns(&self) -> u64 {
        self.cycle_time_ns.as_ref().map_or(0, |cycle| cycle.value)
    }
}

/// An entry of a gate control list and its places in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduleEntry {
    /// The entry.
    pub entry: GateEntry,
    /// The place of its gates.
    pub gates_span: Span,
    /// The place of its duration.
    pub interval_span: Span,
    /// The place of the entry.
    pub span: Span,
}

/// A clock of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clock {
    /// `CLOCK_TAI`.
    Tai,
    /// `CLOCK_REALTIME`.
    Realtime,
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// `CLOCK_BOOTTIME`.
    Boottime,
    /// `CLOCK_MONOTONIC_RAW`, which TAPRIO does not support.
    MonotonicRaw,
}

impl Clock {
    /// All clocks.
    pub const ALL: [Self; 5] =
        [Self::Tai, Self::Realtime, Self::Monotonic, Self::Boottime, Self::MonotonicRaw];

    /// The kernel's number (`linux/time.h`).
    pub fn id(self) -> i32 {
        match self {
            Self::Realtime => 0,
            Self::Monotonic => 1,
            Self::MonotonicRaw => 4,
            Self::Boottime => 7,
            Self::Tai => 11,
        }
    }

    /// The kernel's name, as used by `tc`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Realtime => "CLOCK_REALTIME",
            Self::Monotonic => "CLOCK_MONOTONIC",
            Self::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
            Self::Boottime => "CLOCK_BOOTTIME",
            Self::Tai => "CLOCK_TAI",
        }
    }

    /// The name in a file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Realtime => "realtime",
            Self::Monotonic => "monotonic",
            Self::MonotonicRaw => "monotonic-raw",
            Self::Boottime => "boottime",
            Self::Tai => "tai",
        }
    }
}

/// A rule that gives frames a priority.
#[derive(Clone, Debug, PartialEq)]
pub struct Classifier {
    /// The conditions on a frame; all must be met.
    pub matches: Marks,
    /// The priority of matching frames: 0 to 15.
    pub priority: Located<u8>,
    /// Its place in the file.
    pub span: Span,
}

/// Header fields of a frame, or conditions on them. `None`: not present, or no condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// UDP destination port.
    pub udp_port: Option<u16>,
    /// TCP destination port.
    pub tcp_port: Option<u16>,
    /// Priority code point of the VLAN tag, 0 to 7.
    pub pcp: Option<u8>,
    /// VLAN id, 0 to 4094.
    pub vlan: Option<u16>,
    /// Differentiated services code point, 0 to 63.
    pub dscp: Option<u8>,
    /// EtherType, after a VLAN tag if there is one.
    pub ethertype: Option<u16>,
    /// Source address.
    pub source_mac: Option<[u8; 6]>,
    /// Destination address.
    pub destination_mac: Option<[u8; 6]>,
}

impl Marks {
    /// Whether all fields are `None`.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a frame with the fields `frame` meets all conditions.
    pub fn match_frame(&self, frame: &Self) -> bool {
        fn met<T: PartialEq>(asked: Option<T>, carried: Option<T>) -> bool {
            asked.is_none() || asked == carried
        }
        met(self.udp_port, frame.udp_port)
            && met(self.tcp_port, frame.tcp_port)
            && met(self.pcp, frame.pcp)
            && met(self.vlan, frame.vlan)
            && met(self.dscp, frame.dscp)
            && met(self.ethertype, frame.ethertype)
            && met(self.source_mac, frame.source_mac)
            && met(self.destination_mac, frame.destination_mac)
    }
}

impl Switch {
    /// The priority of a frame in this switch.
    pub fn priority_of(&self, frame: &Marks) -> u8 {
        let rule = self.classifiers.iter().find(|rule| rule.matches.match_frame(frame));
        rule.map_or(0, |rule| rule.priority.value)
    }

    /// The traffic class of a priority: only its low 4 bits count, and beyond the map's end it is 0, as in the
    /// kernel.
    pub fn class_of_priority(&self, priority: u8) -> u8 {
        self.priority_map.get(usize::from(priority & 15)).map_or(0, |class| class.value)
    }

    /// The traffic class of a frame in this switch.
    pub fn class_of(&self, frame: &Marks) -> u8 {
        self.class_of_priority(self.priority_of(frame))
    }

    /// The class that the flow's frames get in this switch and the class that the file declares for it, if these differ.
    pub fn misclassified(&self, flow: &Flow) -> Option<(u8, u8)> {
        let (class, declared) = (self.class_of(&flow.marks), flow.class.as_ref()?.value);
        (class != declared).then_some((class, declared))
    }

    /// The name of a class in the file; its number if it has none.
    pub fn class_name(&self, class: u8) -> String {
        self.classes
            .get(usize::from(class))
            .map_or_else(|| class.to_string(), |known| known.name.value.clone())
    }

    /// The transmit queues of a class: as written, or otherwise the one with its number.
    pub fn queues_of(&self, class: usize) -> QueueRange {
        let written = self.classes.get(class).and_then(|class| class.queues.as_deref().copied());
        written.unwrap_or(QueueRange { count: 1, offset: class as u16 })
    }
}

/// A talker, a listener or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its name in the file.
    pub name: Located<String>,
    /// Its network interface, if it is on this machine.
    pub interface: Option<Located<String>>,
    /// Its IP address.
    pub address: Option<Located<IpAddr>>,
    /// Its Ethernet address.
    pub mac: Option<Located<[u8; 6]>>,
}

/// A cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end, which is always a port.
    pub a: End,
    /// The other end.
    pub b: End,
    /// Propagation time of a bit from one end to the other, in ns.
    pub propagation_ns: u64,
    /// Bits per second, if either end states it.
    pub bits_per_second: Option<u64>,
}

/// One end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// A host, by its index in [`Network::hosts`].
    Host(usize),
    /// A port of a switch.
    Port(PortId),
}

/// A port, by the index of its switch in [`Network::switches`] and its own in [`Switch::ports`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortId {
    /// The index of the switch.
    pub switch: usize,
    /// The index of the port.
    pub port: usize,
}

/// The frames from one talker to one listener.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name in the file.
    pub name: Located<String>,
    /// Index in [`Network::hosts`].
    pub talker: Located<usize>,
    /// Index in [`Network::hosts`].
    pub listener: Located<usize>,
    /// Bytes of a frame as counted by the kernel: from the destination address to the end of the payload, including a
    /// VLAN tag, without preamble, frame check sequence and gap.
    pub size: Located<u32>,
    /// When frames are sent.
    pub pace: Pace,
    /// The header fields of the frames.
    pub marks: Marks,
    /// The intended traffic class, if the file states it.
    pub class: Option<Located<u8>>,
    /// The limits that the file states.
    pub limits: Limits,
    /// Its place in the file.
    pub span: Span,
}

/// The limits of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The longest permitted time from sending a frame to receiving it, in ns.
    pub deadline_ns: Option<Located<u64>>,
    /// The largest permitted difference between two of these times, in ns.
    pub jitter_ns: Option<Located<u64>>,
    /// The number of frames in a million sent that may be lost.
    pub loss_ppm: Option<Located<u32>>,
}

impl Schedule {
    /// Whether the device runs the schedule (`TCA_TAPRIO_ATTR_FLAG_FULL_OFFLOAD`), and not the kernel.
    pub fn is_in_hardware(&self) -> bool {
        self.flags.value & 2 != 0
    }
}

impl Network {
    /// The flows in the plan of a run.
    pub fn flow_plans(&self) -> Vec<FlowPlan> {
        self.flows
            .iter()
            .map(|flow| FlowPlan { misclassified: self.misclassified(flow), ..flow.plan() })
            .collect()
    }

    /// The first switch on the flow's way that gives its frames another class than the file declares.
    fn misclassified(&self, flow: &Flow) -> Option<Misclassified> {
        let way = self.way_out(flow)?;
        way.iter().map(|port| &self.switches[port.switch]).find_map(|switch| {
            let (class, declared) = switch.misclassified(flow)?;
            Some(Misclassified {
                switch: switch.name.value.clone(),
                class: switch.class_name(class),
                declared: switch.class_name(declared),
            })
        })
    }
}

impl Flow {
    /// The flow in the plan of a run, without its classes.
    fn plan(&self) -> FlowPlan {
        let limits = &self.limits;
        FlowPlan {
            misclassified: None,
            name: self.name.value.clone(),
            frame_bytes: self.size.value,
            period_ns: match self.pace {
                Pace::FlatOut => None,
                Pace::Periodic { period_ns, frames, .. } => {
                    Some((period_ns / u64::from(frames.max(1))).max(1))
                }
            },
            limits: FlowLimits {
                deadline_ns: limits.deadline_ns.as_deref().copied(),
                jitter_ns: limits.jitter_ns.as_deref().copied(),
                loss_ppm: limits.loss_ppm.as_deref().copied().unwrap_or(0),
            },
        }
    }
}

/// When a talker sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it can.
    FlatOut,
    /// Periodically.
    Periodic {
        /// Nanoseconds from one burst to the next; not 0.
        period_ns: u64,
        /// The first burst, relative to the base time of the schedule.
        offset_ns: u64,
        /// Frames in a burst, back to back; not 0.
        frames: u32,
    },
}

/// How an experiment on one machine is built from network namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Netns {
    /// The devices of the switch's ports.
    pub ports: VirtualPorts,
    /// The rate limit between each talker and the switch; `None`: the speed of the talker's port.
    pub ingress_bits_per_second: Option<u64>,
    /// How long before its transmit time the talkers' ETF releases a frame, in ns; `None`: talkers have no ETF.
    pub etf_delta_ns: Option<u32>,
}

/// The devices of a virtual switch's ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VirtualPorts {
    /// A tap device for each port with a known speed (it sends at that speed), veth for the others.
    #[default]
    AsSpeed,
    /// Tap devices.
    Tap,
    /// veth pairs, which the kernel treats as 10 Gbit/s.
    Veth,
}
