//! A switch's gate control lists in the YANG model of IEEE 802.1Q: module `ieee802-dot1q-sched`, at each interface's
//! bridge port (`ieee802-dot1q-sched-bridge`), in the JSON of RFC 7951 (64-bit numbers are strings, identities have a
//! module prefix).
//!
//! The priority map becomes the traffic class table of the bridge port (`ieee802-dot1q-bridge`): without it a bridge
//! with eight queues would put priorities into classes that the list never opens.
//!
//! The standard has eight classes and priorities, a base time that is not negative, and cycles as fractions of a second.
//! It has no queues, clocks or frame overhead, which exist only in Linux. VLANs and classifiers belong to other modules.

use serde::Serialize;
use tardy_record::gates::{self, GateOperation};

use crate::settings::{PortSettings, Settings, Taprio};

const NS_PER_S: i64 = 1_000_000_000;
/// The most classes of a port in the standard.
const CLASSES_MAX: u8 = 8;
/// The number of priorities in the standard; Linux has eight more.
const PRIORITIES: u8 = 8;

/// The document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Document {
    #[serde(rename = "ietf-interfaces:interfaces")]
    interfaces: Interfaces,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Interfaces {
    interface: Vec<Interface>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Interface {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "ieee802-dot1q-bridge:bridge-port")]
    bridge_port: BridgePort,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct BridgePort {
    #[serde(rename = "traffic-class")]
    classes: TrafficClassTable,
    #[serde(rename = "ieee802-dot1q-sched-bridge:gate-parameter-table")]
    gates: GateParameterTable,
}

/// The class of each priority (IEEE 802.1Q, 8.6.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
struct TrafficClassTable {
    traffic_class_map: Vec<PriorityClasses>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
struct PriorityClasses {
    priority: u8,
    available_traffic_class: Vec<AvailableClass>,
}

/// The class of a priority in a port with this number of classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
struct AvailableClass {
    num_traffic_class: u8,
    traffic_class: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
struct GateParameterTable {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queue_max_sdu_table: Vec<QueueMaxSdu>,
    gate_enabled: bool,
    admin_gate_states: u8,
    admin_control_list: AdminControlList,
    admin_cycle_time: Rational,
    #[serde(skip_serializing_if = "Option::is_none")]
    admin_cycle_time_extension: Option<u32>,
    admin_base_time: PtpTime,
    config_change: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
struct QueueMaxSdu {
    traffic_class: u8,
    queue_max_sdu: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
struct AdminControlList {
    gate_control_entry: Vec<GateControlEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
struct GateControlEntry {
    index: u32,
    operation_name: &'static str,
    time_interval_value: u32,
    gate_states_value: u8,
}

/// Seconds as a fraction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Rational {
    numerator: i32,
    denominator: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct PtpTime {
    /// 64 bits, and therefore a string (RFC 7951, section 6.1).
    seconds: String,
    nanoseconds: u32,
}

/// The document for all ports that have a schedule.
///
/// # Errors A setting that the standard's model cannot express.
pub fn document(settings: &Settings) -> Result<Document, String> {
    let shaped = settings.ports.iter().filter_map(|port| port.taprio.as_ref().map(|taprio| (port, taprio)));
    let interface = shaped.map(|(port, taprio)| interface(port, taprio)).collect::<Result<_, _>>()?;
    Ok(Document { interfaces: Interfaces { interface } })
}

fn interface(port: &PortSettings, taprio: &Taprio) -> Result<Interface, String> {
    let gates = gates(taprio).map_err(|wrong| format!("{}: {wrong}", port.interface))?;
    Ok(Interface {
        name: port.interface.clone(),
        kind: "iana-if-type:ethernetCsmacd",
        bridge_port: BridgePort { classes: classes(taprio), gates },
    })
}

/// The table has a row for each number of classes that a port may have and that includes those of the list.
fn classes(taprio: &Taprio) -> TrafficClassTable {
    let of_priority = |(priority, class): (u8, &u8)| PriorityClasses {
        priority,
        available_traffic_class: (taprio.num_tc.max(1)..=CLASSES_MAX)
            .map(|num_traffic_class| AvailableClass { num_traffic_class, traffic_class: *class })
            .collect(),
    };
    let known = (0..PRIORITIES).zip(&taprio.prio_tc_map).filter(|(_, class)| **class < CLASSES_MAX);
    TrafficClassTable { traffic_class_map: known.map(of_priority).collect() }
}

fn gates(taprio: &Taprio) -> Result<GateParameterTable, String> {
    if taprio.num_tc > CLASSES_MAX {
        return Err(format!("{} classes; the standard has 8", taprio.num_tc));
    }
    let sum = gates::sum_ns(&taprio.entries).cast_signed();
    let cycle = taprio.cycle_time_ns.filter(|cycle| *cycle != 0).unwrap_or(sum);
    let numerator = i32::try_from(cycle)
        .ok()
        .filter(|cycle| *cycle > 0)
        .ok_or_else(|| format!("a cycle of {cycle} ns; write one from 1 ns to 2.147483647 s"))?;
    // Only the phase of a base time matters, so a negative one is moved by whole cycles.
    let base =
        if taprio.base_time_ns < 0 { taprio.base_time_ns.rem_euclid(cycle) } else { taprio.base_time_ns };
    let extension = taprio.cycle_time_extension_ns.map(u32::try_from).transpose();
    let all_open = ((1u16 << taprio.num_tc) - 1) as u8;
    let entries = taprio.entries.iter().zip(0..).map(|(entry, index)| GateControlEntry {
        index,
        operation_name: match entry.operation {
            GateOperation::Set => "ieee802-dot1q-sched:set-gate-states",
            GateOperation::SetAndHold => "ieee802-dot1q-sched:set-and-hold-mac",
            GateOperation::SetAndRelease => "ieee802-dot1q-sched:set-and-release-mac",
        },
        time_interval_value: entry.interval_ns,
        gate_states_value: entry.gates as u8 & all_open,
    });
    let limits = taprio.max_sdu.iter().zip(0..).filter(|(bytes, _)| **bytes > 0);
    Ok(GateParameterTable {
        queue_max_sdu_table: limits
            .map(|(bytes, class)| QueueMaxSdu { traffic_class: class, queue_max_sdu: *bytes })
            .collect(),
        gate_enabled: true,
        admin_gate_states: all_open,
        admin_control_list: AdminControlList { gate_control_entry: entries.collect() },
        admin_cycle_time: Rational { numerator, denominator: NS_PER_S as i32 },
        admin_cycle_time_extension: extension
            .map_err(|_| "a cycle time extension beyond 4.294967295 s".to_owned())?,
        admin_base_time: PtpTime {
            seconds: (base / NS_PER_S).to_string(),
            nanoseconds: (base % NS_PER_S) as u32,
        },
        config_change: true,
    })
}
