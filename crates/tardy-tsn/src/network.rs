//! What a file describes: switches, their ports and schedules, hosts, links and flows.
//!
//! The model holds what was written, the mistakes that a kernel would accept among it: judging is the business of
//! the rules, not of the types. Only what has no meaning at all (a flow to a host that is not there, a duration without a
//! unit) is refused while reading.

use std::net::IpAddr;

use tardy_record::gates::{self, AfterLast, GateEntry, Openings};

use crate::placed::{Placed, Span};

/// Most traffic classes and priorities there can be (`TC_QOPT_MAX_QUEUE` and `TC_BITMASK` + 1 in `linux/pkt_sched.h`).
pub const CLASSES_MAX: usize = 16;

/// Everything that one file describes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// One sentence: what it is.
    pub about: String,
    /// Ids of published results that it repeats (`data/published.toml`).
    pub published: Vec<String>,
    /// What the person who uses it should know.
    pub notes: String,
    /// At least one.
    pub switches: Vec<Switch>,
    /// Talkers and listeners.
    pub hosts: Vec<Host>,
    /// Cables, as the ports' `to` says.
    pub links: Vec<Link>,
    /// What shall flow.
    pub flows: Vec<Flow>,
    /// How a virtual experiment is built.
    pub netns: Netns,
}

/// One bridge with its ports.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// What it is called, and its bridge device too.
    pub name: Placed<String>,
    /// What forwards.
    pub bridge: Bridge,
    /// Time from the last bit in to the queue of the port out, for the simulator; a store-and-forward switch.
    pub forwarding_ns: u64,
    /// Traffic classes; the index is the class's number.
    pub classes: Vec<Class>,
    /// Traffic class of each priority from 0 on; the kernel takes priorities beyond its end to class 0.
    pub priority_map: Placed<Vec<Placed<u8>>>,
    /// What gives a frame its priority: the first that matches. A frame that none matches has priority 0.
    pub classifiers: Vec<Classifier>,
    /// Its ports.
    pub ports: Vec<Port>,
}

/// What forwards frames between the ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bridge {
    /// The kernel's own.
    #[default]
    Kernel,
    /// Open vSwitch.
    OpenVSwitch,
}

/// A traffic class.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// What the file calls it; its number where it has no name.
    pub name: Placed<String>,
    /// Transmit queues that carry it; absent: one, that of its number.
    pub queues: Option<Placed<QueueRange>>,
    /// Longest service data unit in bytes, without the 14 bytes of Ethernet header: longer frames are dropped.
    pub max_sdu: Option<Placed<u32>>,
    /// Where it stands.
    pub span: Span,
}

/// `count@offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRange {
    /// How many transmit queues.
    pub count: u16,
    /// The first of them.
    pub offset: u16,
}

/// One port of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// The network interface.
    pub interface: Placed<String>,
    /// Bits per second.
    pub speed: Placed<Speed>,
    /// How many transmit queues it has, or gets where tardy makes it.
    pub queues: Option<Placed<u16>>,
    /// Time that a bit takes to the other end of the cable.
    pub propagation_ns: u64,
    /// Its VLANs; none: all frames pass as they are.
    pub vlans: PortVlans,
    /// When which class may send; none: always.
    pub schedule: Option<Schedule>,
    /// Where it stands.
    pub span: Span,
}

/// How fast a port sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speed {
    /// The file does not say: what the kernel knows.
    #[default]
    AsKernelSays,
    /// The file says that nobody knows. TAPRIO takes that for 10 Mbit/s.
    Unknown,
    /// Known.
    BitsPerSecond(u64),
}

impl Speed {
    /// The speed in bits per second, where it is known.
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
    /// The VLAN of frames that come without a tag, and whose frames leave without one.
    pub untagged: Option<Placed<u16>>,
    /// VLANs whose frames leave with their tag.
    pub tagged: Vec<Placed<u16>>,
}

impl PortVlans {
    /// Whether the file says nothing of VLANs for this port.
    pub fn is_empty(&self) -> bool {
        self.untagged.is_none() && self.tagged.is_empty()
    }
}

/// A port's gate control list and what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The gate control list, in order.
    pub entries: Vec<ScheduleEntry>,
    /// The list as a whole.
    pub gates_span: Span,
    /// When a cycle began or will begin: nanoseconds of the clock since its zero.
    pub base_time_ns: Placed<i64>,
    /// Length of a cycle as written; absent: the sum of the entries.
    pub cycle_time_ns: Option<Placed<u64>>,
    /// By how much the last cycle before a new schedule may be longer.
    pub cycle_time_extension_ns: Option<Placed<u64>>,
    /// The clock that base time and gates go by; absent: none is named to the kernel.
    pub clock: Option<Placed<Clock>>,
    /// What a frame costs on the wire beyond the bytes that the kernel counts: preamble and start delimiter 8, frame check
    /// sequence 4, gap 12.
    pub overhead: Placed<u32>,
    /// TAPRIO's flags: 0 software, 1 transmit times assigned for ETF, 2 left to the hardware.
    pub flags: Placed<u32>,
    /// With flags 1: how long before its transmit time a frame may reach ETF.
    pub txtime_delay_ns: Option<Placed<u32>>,
}

impl Schedule {
    /// Sum of the entries' durations.
    pub fn sum_ns(&self) -> u64 {
        gates::sum_ns(&self.gate_entries())
    }

    /// Length of a cycle: as written, or else the sum of the entries.
    pub fn cycle_ns(&self) -> u64 {
        self.cycle_time_ns.as_ref().map_or_else(|| self.sum_ns(), |cycle| cycle.value)
    }

    /// The gate control list without its places in the file.
    pub fn gate_entries(&self) -> Vec<GateEntry> {
        self.entries.iter().map(|entry| entry.entry).collect()
    }

    /// How long each entry runs under Linux's software TAPRIO, in ns: a cycle time that is shorter than the sum of the
    /// entries cuts the list, a longer one is ignored.
    pub fn running_ns(&self) -> Vec<u64> {
        gates::running_ns(&self.gate_entries(), self.written_cycle_ns(), AfterLast::Restart)
    }

    /// When the gate of `class` is open under Linux's software TAPRIO.
    pub fn openings(&self, class: usize) -> Openings {
        let class = u8::try_from(class).unwrap_or(u8::MAX);
        Openings::of(&self.gate_entries(), self.written_cycle_ns(), AfterLast::Restart, class)
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
    /// The entry as a whole.
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
    /// `CLOCK_MONOTONIC_RAW`, which TAPRIO does not take.
    MonotonicRaw,
}

impl Clock {
    /// All of them.
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

    /// The kernel's name, as `tc` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Realtime => "CLOCK_REALTIME",
            Self::Monotonic => "CLOCK_MONOTONIC",
            Self::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
            Self::Boottime => "CLOCK_BOOTTIME",
            Self::Tai => "CLOCK_TAI",
        }
    }

    /// The word for it in a file.
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
    /// What a frame must have; all of it.
    pub matches: Marks,
    /// The priority that it gets: 0 to 15.
    pub priority: Placed<u8>,
    /// Where it stands.
    pub span: Span,
}

/// What can be seen of a frame, or what a frame carries. Absent: any, or none.
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
    /// EtherType, behind a VLAN tag if there is one.
    pub ethertype: Option<u16>,
    /// Source address.
    pub source_mac: Option<[u8; 6]>,
    /// Destination address.
    pub destination_mac: Option<[u8; 6]>,
}

impl Marks {
    /// Whether nothing is asked or carried at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a frame that carries `frame` has everything that this asks for.
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
    /// The priority that a frame gets here.
    pub fn priority_of(&self, frame: &Marks) -> u8 {
        let rule = self.classifiers.iter().find(|rule| rule.matches.match_frame(frame));
        rule.map_or(0, |rule| rule.priority.value)
    }

    /// The traffic class of a priority: only its low 4 bits count, and beyond the map's end it is 0, as in the kernel.
    pub fn class_of_priority(&self, priority: u8) -> u8 {
        self.priority_map.get(usize::from(priority & 15)).map_or(0, |class| class.value)
    }

    /// The traffic class that a frame comes into here.
    pub fn class_of(&self, frame: &Marks) -> u8 {
        self.class_of_priority(self.priority_of(frame))
    }

    /// What the file calls a class; its number where there is none such.
    pub fn class_name(&self, class: u8) -> String {
        self.classes
            .get(usize::from(class))
            .map_or_else(|| class.to_string(), |known| known.name.value.clone())
    }

    /// The transmit queues of a class: as written, or else the one of its number.
    pub fn queues_of(&self, class: usize) -> QueueRange {
        let written = self.classes.get(class).and_then(|class| class.queues.as_deref().copied());
        written.unwrap_or(QueueRange { count: 1, offset: class as u16 })
    }
}

/// A talker, a listener or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// What the file calls it.
    pub name: Placed<String>,
    /// Its network interface, where it is on this machine.
    pub interface: Option<Placed<String>>,
    /// Its address.
    pub address: Option<Placed<IpAddr>>,
    /// Its Ethernet address.
    pub mac: Option<Placed<[u8; 6]>>,
}

/// A cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end; always a port.
    pub a: End,
    /// The other.
    pub b: End,
    /// Time that a bit takes from one end to the other.
    pub propagation_ns: u64,
    /// Bits per second, where either end says.
    pub bits_per_second: Option<u64>,
}

/// One end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// [`Network::hosts`], by its place there.
    Host(usize),
    /// A port of a switch.
    Port(PortId),
}

/// A port, by its switch's place in [`Network::switches`] and its own in [`Switch::ports`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortId {
    /// The switch.
    pub switch: usize,
    /// Its port.
    pub port: usize,
}

/// What one talker sends to one listener.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// What the file calls it.
    pub name: Placed<String>,
    /// [`Network::hosts`], by its place there.
    pub talker: Placed<usize>,
    /// [`Network::hosts`], by its place there.
    pub listener: Placed<usize>,
    /// Bytes of a frame as the kernel counts them: from the destination address to the end of the payload, a VLAN tag
    /// included, without preamble, frame check sequence and gap.
    pub size: Placed<u32>,
    /// When frames are sent.
    pub pace: Pace,
    /// What the frames carry.
    pub marks: Marks,
    /// The traffic class that it shall come into, if the file says.
    pub class: Option<Placed<u8>>,
    /// How long after sending a frame may arrive.
    pub deadline_ns: Option<Placed<u64>>,
    /// Where it stands.
    pub span: Span,
}

/// When a talker sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it can.
    FlatOut,
    /// Every so often.
    Periodic {
        /// Nanoseconds from one burst to the next; not 0.
        period_ns: u64,
        /// The first burst, after the talker's zero: with a schedule its base time.
        offset_ns: u64,
        /// Frames in a burst, back to back; not 0.
        frames: u32,
    },
}

/// How an experiment on one machine is built of network namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Netns {
    /// What the switch's ports are made of.
    pub ports: VirtualPorts,
    /// The rate to which each talker's way into the switch is held; absent: the speed of the talker's port.
    pub ingress_bits_per_second: Option<u64>,
}

/// What the ports of a virtual switch are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VirtualPorts {
    /// A tap device for each port with a known speed (it sends at the speed it is told), veth for the rest.
    #[default]
    AsSpeed,
    /// Tap devices.
    Tap,
    /// veth pairs, which the kernel takes for 10 Gbit/s.
    Veth,
}
