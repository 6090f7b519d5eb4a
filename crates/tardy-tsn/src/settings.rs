//! The kernel settings of a switch, in the kernel's own numbers. Plain data: tardy-sys sends it.

use serde::{Serialize, Serializer};
use tardy_record::gates::{GateEntry, GateOperation};

use crate::class_queueing::{self, Child};
use crate::network::{Bridge, CLASSES_MAX, Class, Marks, Port, PortVlans, QueueRange, Schedule, Switch};

/// All settings of one switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The bridge.
    pub bridge: BridgeSettings,
    /// Its ports, in the order of the file.
    pub ports: Vec<PortSettings>,
    /// Rules that give frames their priority at egress, in the order of the file: the first match decides.
    pub classifiers: Vec<ClassifierRule>,
}

/// The bridge itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeSettings {
    /// Name of its device.
    pub name: String,
    /// The kind of the bridge.
    pub kind: Bridge,
    /// Whether it filters VLANs: it does if any port has VLANs in the file.
    pub vlan_filtering: bool,
}

/// One port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// The network interface.
    pub interface: String,
    /// VLANs, in ascending order; empty if the bridge does not filter.
    pub vlans: Vec<PortVlan>,
    /// Its root qdisc; `None`: the root qdisc is not changed.
    pub taprio: Option<Taprio>,
    /// The queueing disciplines below it, in the order of the queues.
    pub children: Vec<Child>,
}

/// A port's membership of a VLAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PortVlan {
    /// VLAN id.
    pub id: u16,
    /// Frames without a tag belong to this VLAN (`pvid`).
    pub pvid: bool,
    /// Frames leave without a tag (`untagged`).
    pub untagged: bool,
}

/// One rule of the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassifierRule {
    /// The conditions on a frame; all must be met.
    pub matches: Marks,
    /// `skb->priority`.
    pub priority: u8,
}

/// A TAPRIO root qdisc: the attributes of `TCA_OPTIONS` and the size table (`linux/pkt_sched.h`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Taprio {
    /// `tc_mqprio_qopt.num_tc`.
    pub num_tc: u8,
    /// `tc_mqprio_qopt.prio_tc_map`: class of each priority.
    pub prio_tc_map: [u8; CLASSES_MAX],
    /// `tc_mqprio_qopt.count` and `.offset` of the first `num_tc` classes.
    pub queues: Vec<Queues>,
    /// `TCA_TAPRIO_ATTR_SCHED_ENTRY_LIST`.
    #[serde(serialize_with = "entries_as_attributes")]
    pub entries: Vec<GateEntry>,
    /// `TCA_TAPRIO_ATTR_SCHED_BASE_TIME`, nanoseconds.
    pub base_time_ns: i64,
    /// `TCA_TAPRIO_ATTR_SCHED_CYCLE_TIME`, nanoseconds; `None` is not sent, and the kernel uses the sum of the
    /// entries.
    pub cycle_time_ns: Option<i64>,
    /// `TCA_TAPRIO_ATTR_SCHED_CYCLE_TIME_EXTENSION`, nanoseconds; `None` is not sent.
    pub cycle_time_extension_ns: Option<i64>,
    /// `TCA_TAPRIO_ATTR_SCHED_CLOCKID`; `None` is not sent.
    pub clockid: Option<i32>,
    /// `TCA_TAPRIO_ATTR_FLAGS`.
    pub flags: u32,
    /// `TCA_TAPRIO_ATTR_TXTIME_DELAY`, nanoseconds; `None` is not sent.
    pub txtime_delay_ns: Option<u32>,
    /// `TCA_TAPRIO_TC_ENTRY_MAX_SDU` of each class, bytes; 0 means no limit, and is not sent.
    pub max_sdu: [u32; CLASSES_MAX],
    /// The classes with `TCA_TAPRIO_TC_ENTRY_FP` of `TC_FP_PREEMPTIBLE`, one bit each. The attribute is not sent for others, whose default is `TC_FP_EXPRESS`.
    pub preemptible: u32,
    /// `tc_sizespec.overhead` of `TCA_STAB`, bytes; 0 means no size table.
    pub overhead: u32,
}

/// Bytes of a `TCA_TAPRIO_ATTR_SCHED_ENTRY` with command, gate mask and interval: 4 + 8 + 8 + 8.
const ENTRY_BYTES: usize = 28;
/// The same without its command, which then defaults to 0.
const SHORT_ENTRY_BYTES: usize = 20;
/// The length of a netlink attribute, including nested ones, has 16 bits.
const ATTRIBUTE_BYTES_MAX: usize = 65_535;
/// Bytes that are reserved for everything other than entries.
const BESIDE_ENTRIES_BYTES: usize = 700;
/// `tc` limits its message to 1,024 bytes while it adds the options (`taprio_parse_opt()` in iproute2's `q_taprio.c`,
/// unchanged in iproute2 7.1). Of these, 56 are taken by the netlink header (16), tcmsg (20), the kind (12), and the
/// headers of the options (4) and of the list (4). The size table does not count, since `tc` adds it after the options,
/// without that limit (`tc_qdisc_modify()`).
const TC_ROOM_BYTES: usize = 1024 - 56;
/// The priority map of 82 bytes, with header and padding.
const PRIORITY_MAP_BYTES: usize = 88;
/// An attribute of 64 bits, with its header.
const LONG_BYTES: usize = 12;
/// An attribute of 32 bits, with its header.
const WORD_BYTES: usize = 8;
/// A `TCA_TAPRIO_ATTR_TC_ENTRY` with its class: 4 + 8. Its longest service data unit and its preemption have 8 bytes each.
const CLASS_ENTRY_BYTES: usize = 12;

impl Taprio {
    /// Bytes of `TCA_OPTIONS` as tardy sends it, including its header.
    pub fn options_bytes(&self) -> usize {
        // The headers of the options and of the list, and the base time, which tardy always sends.
        let fixed = 4 + PRIORITY_MAP_BYTES + 4 + LONG_BYTES;
        fixed + self.optional_bytes() + self.class_bytes(false) + self.entry_bytes() * self.entries.len()
    }

    /// Bytes of the classes' entries. `tc` sends the maximum SDU and the preemption of each class on its command line, and tardy writes
    /// all of them there if there is one.
    fn class_bytes(&self, of_tc: bool) -> usize {
        let classes = self.max_sdu.iter().enumerate().take(usize::from(self.num_tc));
        let is_limited =
            |bytes: u32| if of_tc { self.max_sdu.iter().any(|bytes| *bytes > 0) } else { bytes > 0 };
        let is_stated =
            |class: usize| if of_tc { self.preemptible != 0 } else { self.preemptible >> class & 1 == 1 };
        let bytes = classes.map(|(class, bytes)| {
            let attributes = usize::from(is_limited(*bytes)) + usize::from(is_stated(class));
            if attributes == 0 { 0 } else { CLASS_ENTRY_BYTES + WORD_BYTES * attributes }
        });
        bytes.sum()
    }

    /// Bytes of the attributes that are sent only if they are set: cycle time, its extension, clock, flags and the delay
    /// of transmit times.
    fn optional_bytes(&self) -> usize {
        let present = |time: Option<i64>| usize::from(time.is_some_and(|ns| ns != 0));
        LONG_BYTES * (present(self.cycle_time_ns) + present(self.cycle_time_extension_ns))
            + WORD_BYTES * usize::from(self.clockid.is_some())
            + WORD_BYTES * usize::from(self.flags != 0)
            + WORD_BYTES * usize::from(self.txtime_delay_ns.is_some())
    }

    /// Whether each entry carries its command. It does unless the list is too long for that and all commands are the
    /// default.
    pub fn entry_has_command(&self) -> bool {
        self.entries.len() * ENTRY_BYTES <= ATTRIBUTE_BYTES_MAX - BESIDE_ENTRIES_BYTES
            || self.entries.iter().any(|entry| entry.operation != GateOperation::Set)
    }

    fn entry_bytes(&self) -> usize {
        if self.entry_has_command() { ENTRY_BYTES } else { SHORT_ENTRY_BYTES }
    }

    /// Whether the list fits into netlink's attributes; otherwise it would arrive truncated.
    pub fn fits_message(&self) -> bool {
        self.entries.len() <= self.entries_max()
    }

    /// The most entries that would fit.
    pub fn entries_max(&self) -> usize {
        let plain = self.entries.iter().all(|entry| entry.operation == GateOperation::Set);
        let shortest = if plain { SHORT_ENTRY_BYTES } else { ENTRY_BYTES };
        (ATTRIBUTE_BYTES_MAX - BESIDE_ENTRIES_BYTES) / shortest
    }

    /// The most entries that `tc` could send: 31, fewer if a base time other than 0, a cycle time, flags or maximum SDUs
    /// need space.
    pub fn entries_max_of_tc(&self) -> usize {
        let base_time = LONG_BYTES * usize::from(self.base_time_ns != 0);
        let others = PRIORITY_MAP_BYTES + self.optional_bytes() + base_time + self.class_bytes(true);
        TC_ROOM_BYTES.saturating_sub(others) / ENTRY_BYTES
    }
}

/// Transmit queues of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Queues {
    /// The number of queues.
    pub count: u16,
    /// The first queue.
    pub offset: u16,
}

/// Writes entries under the names of the kernel's attributes (`TCA_TAPRIO_SCHED_ENTRY_*`).
fn entries_as_attributes<S: Serializer>(entries: &[GateEntry], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Attributes {
        command: u8,
        gate_mask: u32,
        interval_ns: u32,
    }
    serializer.collect_seq(entries.iter().map(|entry| Attributes {
        command: entry.operation.command(),
        gate_mask: entry.gates,
        interval_ns: entry.interval_ns,
    }))
}

/// The settings of `switch`.
pub fn of(switch: &Switch) -> Settings {
    let vlan_filtering = switch.ports.iter().any(|port| !port.vlans.is_empty());
    let ports = switch.ports.iter().map(|port| PortSettings {
        interface: port.interface.value.clone(),
        vlans: if vlan_filtering { vlans_of(&port.vlans) } else { Vec::new() },
        taprio: taprio_of(switch, port),
        children: class_queueing::of(switch, port),
    });
    Settings {
        bridge: BridgeSettings { name: switch.name.value.clone(), kind: switch.bridge, vlan_filtering },
        ports: ports.collect(),
        classifiers: switch
            .classifiers
            .iter()
            .map(|rule| ClassifierRule { matches: rule.matches, priority: rule.priority.value })
            .collect(),
    }
}

/// The root qdisc of a port; `None` if it has no schedule.
pub fn taprio_of(switch: &Switch, port: &Port) -> Option<Taprio> {
    port.schedule.as_ref().map(|schedule| taprio(switch, schedule))
}

fn taprio(switch: &Switch, schedule: &Schedule) -> Taprio {
    let mut prio_tc_map = [0; CLASSES_MAX];
    for (place, class) in prio_tc_map.iter_mut().zip(&switch.priority_map.value) {
        *place = class.value;
    }
    let mut max_sdu = [0; CLASSES_MAX];
    for (place, class) in max_sdu.iter_mut().zip(&switch.classes) {
        *place = class.max_sdu.as_deref().copied().unwrap_or(0);
    }
    let queues = (0..switch.classes.len()).map(|class| switch.queues_of(class));
    Taprio {
        num_tc: switch.classes.len() as u8,
        prio_tc_map,
        queues: queues.map(|QueueRange { count, offset }| Queues { count, offset }).collect(),
        entries: schedule.gate_entries(),
        base_time_ns: schedule.base_time_ns.value,
        cycle_time_ns: schedule.cycle_time_ns.as_ref().map(|cycle| signed(cycle.value)),
        cycle_time_extension_ns: schedule.cycle_time_extension_ns.as_ref().map(|time| signed(time.value)),
        clockid: schedule.clock.as_ref().map(|clock| clock.id()),
        flags: schedule.flags.value,
        txtime_delay_ns: schedule.txtime_delay_ns.as_deref().copied(),
        max_sdu,
        preemptible: preemptible(switch),
        overhead: schedule.overhead.value,
    }
}

/// The preemptible classes, one bit each.
fn preemptible(switch: &Switch) -> u32 {
    let is_so = |class: &Class| class.preemptible.as_ref().is_some_and(|preemptible| preemptible.value);
    switch
        .classes
        .iter()
        .take(CLASSES_MAX)
        .zip(0..)
        .fold(0, |mask, (class, number)| mask | u32::from(is_so(class)) << number)
}

/// The kernel's attribute is signed; a larger value is too long for it anyway.
fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The VLANs of a port. A port without VLANs in the file has Linux's default for bridge ports: VLAN 1, untagged.
fn vlans_of(vlans: &PortVlans) -> Vec<PortVlan> {
    if vlans.is_empty() {
        return vec![PortVlan { id: 1, pvid: true, untagged: true }];
    }
    let mut all: Vec<PortVlan> =
        vlans.tagged.iter().map(|id| PortVlan { id: id.value, pvid: false, untagged: false }).collect();
    if let Some(id) = &vlans.untagged {
        all.retain(|vlan| vlan.id != id.value);
        all.push(PortVlan { id: id.value, pvid: true, untagged: true });
    }
    all.sort_unstable();
    all.dedup();
    all
}
