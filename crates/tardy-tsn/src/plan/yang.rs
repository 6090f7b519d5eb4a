//! A switch in the YANG models of IEEE 802.1Q: its gate control lists, its VLANs and the traffic class tables of its ports.
//!
//! The gate control lists are in `ieee802-dot1q-sched`, whose place differs by revision ([`Model`]). The priority map becomes the
//! traffic class table of the bridge port (`ieee802-dot1q-bridge`): without it a bridge with eight queues would put priorities into
//! classes that the list never opens. VLANs are static registrations in the bridge, and the port's PVID.
//!
//! The standard has eight classes and priorities, a base time that is not negative, and cycles as fractions of a second.
//! It has no queues, clocks or frame overhead, which exist only in Linux. Classifiers belong to other modules.

mod tree;

use tardy_record::gates::{self, GateOperation};

use crate::settings::{PortSettings, PortVlan, Settings, Taprio};
pub use tree::Document;
use tree::{Element, Module, Value};

const NS_PER_S: i64 = 1_000_000_000;
/// The most classes of a port in the standard.
const CLASSES_MAX: u8 = 8;
/// The number of priorities in the standard; Linux has eight more.
const PRIORITIES: u8 = 8;
/// The only filtering database of a bridge with shared VLAN learning.
const DATABASE: i64 = 1;

/// Where gate control lists are in the data, and in which form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// At the bridge port: `ieee802-dot1q-sched-bridge` with `ieee802-dot1q-sched` from 2022 on (802.1Qcw).
    #[default]
    Bridge,
    /// At the interface, without a bridge: `ieee802-dot1dc-sched-if` (802.1DC-2024).
    Interface,
    /// At the interface, in the revision 2018-09-10 of `ieee802-dot1q-sched`.
    Of2018,
}

/// The document for all ports that have a schedule or VLANs.
///
/// # Errors
/// A setting that the standard's model cannot express.
pub fn document(settings: &Settings, model: Model) -> Result<Document, String> {
    let mut elements = Vec::new();
    let bridge = &settings.bridge;
    if bridge.vlan_filtering {
        elements.push(bridges(settings));
    }
    let listed = settings.ports.iter().filter(|port| port.taprio.is_some() || bridge.vlan_filtering);
    let interfaces = listed
        .map(|port| {
            interface(port, &bridge.name, model).map_err(|wrong| format!("{}: {wrong}", port.interface))
        })
        .collect::<Result<_, _>>()?;
    let interfaces = Element::new(Module::Interfaces, "interface", Value::List(interfaces));
    elements.push(Element::new(Module::Interfaces, "interfaces", Value::Container(vec![interfaces])));
    Ok(Document { elements })
}

fn of_bridge(name: &'static str, value: Value) -> Element {
    Element::new(Module::Bridge, name, value)
}

fn of_sched(name: &'static str, value: Value) -> Element {
    Element::new(Module::Sched, name, value)
}

/// The VLANs of the bridge. Ports are numbered in the order of the file, from 1.
fn bridges(settings: &Settings) -> Element {
    let mut ids: Vec<u16> =
        settings.ports.iter().flat_map(|port| port.vlans.iter().map(|vlan| vlan.id)).collect();
    ids.sort_unstable();
    ids.dedup();
    let registrations = ids.iter().map(|id| registration(settings, *id)).collect();
    let vlan = |id: &u16| vec![of_bridge("vid", Value::Number(i64::from(*id)))];
    let name = || Value::Text(settings.bridge.name.clone());
    let component = vec![
        of_bridge("name", name()),
        of_bridge(
            "filtering-database",
            Value::Container(vec![of_bridge("vlan-registration-entry", Value::List(registrations))]),
        ),
        of_bridge(
            "bridge-vlan",
            Value::Container(vec![of_bridge("vlan", Value::List(ids.iter().map(vlan).collect()))]),
        ),
    ];
    let bridge = vec![of_bridge("name", name()), of_bridge("component", Value::List(vec![component]))];
    of_bridge("bridges", Value::Container(vec![of_bridge("bridge", Value::List(vec![bridge]))]))
}

/// The ports of a VLAN.
fn registration(settings: &Settings, id: u16) -> Vec<Element> {
    let member = |(port, number): (&PortSettings, i64)| {
        let vlan = port.vlans.iter().find(|vlan| vlan.id == id)?;
        let transmitted = if vlan.untagged { "untagged" } else { "tagged" };
        let entries = vec![
            of_bridge("registrar-admin-control", Value::Text("fixed-new-propagated".to_owned())),
            of_bridge("vlan-transmitted", Value::Text(transmitted.to_owned())),
        ];
        Some(vec![
            of_bridge("port-ref", Value::Number(number)),
            of_bridge("static-vlan-registration-entries", Value::Container(entries)),
        ])
    };
    vec![
        of_bridge("database-id", Value::Number(DATABASE)),
        of_bridge("vids", Value::Text(id.to_string())),
        of_bridge("entry-type", Value::Text("static".to_owned())),
        of_bridge("port-map", Value::List(settings.ports.iter().zip(1..).filter_map(member).collect())),
    ]
}

fn interface(port: &PortSettings, bridge: &str, model: Model) -> Result<Vec<Element>, String> {
    let mut elements = vec![
        Element::new(Module::Interfaces, "name", Value::Text(port.interface.clone())),
        Element::new(Module::Interfaces, "type", Value::Identity(Module::InterfaceTypes, "ethernetCsmacd")),
    ];
    let mut bridge_port = Vec::new();
    if !port.vlans.is_empty() {
        bridge_port.extend(vlans(&port.vlans, bridge));
    }
    if let Some(taprio) = &port.taprio {
        bridge_port.push(of_bridge("traffic-class", Value::Container(vec![classes(taprio)])));
    }
    let gates = port.taprio.as_ref().map(|taprio| gates(taprio, model)).transpose()?;
    let (at_bridge_port, at_interface) = match model {
        Model::Bridge => (gates, None),
        Model::Interface | Model::Of2018 => (None, gates),
    };
    bridge_port.extend(at_bridge_port.unwrap_or_default());
    if !bridge_port.is_empty() {
        elements.push(of_bridge("bridge-port", Value::Container(bridge_port)));
    }
    elements.extend(at_interface.unwrap_or_default());
    Ok(elements)
}

/// The PVID of a port. The model has one only for a port whose component is named.
fn vlans(vlans: &[PortVlan], bridge: &str) -> Vec<Element> {
    let component = of_bridge("component-name", Value::Text(bridge.to_owned()));
    let untagged = match vlans.iter().find(|vlan| vlan.pvid) {
        Some(vlan) => of_bridge("pvid", Value::Number(i64::from(vlan.id))),
        None => of_bridge("acceptable-frame", Value::Text("admit-only-VLAN-tagged-frames".to_owned())),
    };
    vec![component, untagged]
}

/// The class of each priority (IEEE 802.1Q, 8.6.6). The table has a row for each number of classes that a port may have and that
/// includes those of the list.
fn classes(taprio: &Taprio) -> Element {
    let number = |name, number: u8| of_bridge(name, Value::Number(i64::from(number)));
    let of_priority = |(priority, class): (u8, &u8)| {
        let available = (taprio.num_tc.max(1)..=CLASSES_MAX)
            .map(|classes| vec![number("num-traffic-class", classes), number("traffic-class", *class)])
            .collect();
        vec![number("priority", priority), of_bridge("available-traffic-class", Value::List(available))]
    };
    let known = (0..PRIORITIES).zip(&taprio.prio_tc_map).filter(|(_, class)| **class < CLASSES_MAX);
    of_bridge("traffic-class-map", Value::List(known.map(of_priority).collect()))
}

/// A container in which a model has its own module's data.
struct Form {
    /// The module of all nodes: groupings become part of the module that uses them.
    module: Module,
    is_of_2018: bool,
}

impl Form {
    fn element(&self, name: &'static str, value: Value) -> Element {
        Element::new(self.module, name, value)
    }

    fn number(&self, name: &'static str, number: impl Into<i64>) -> Element {
        self.element(name, Value::Number(number.into()))
    }

    fn entry(&self, index: u32, entry: &gates::GateEntry, all_open: u8) -> Vec<Element> {
        let operation = match entry.operation {
            GateOperation::Set => "set-gate-states",
            GateOperation::SetAndHold => "set-and-hold-mac",
            GateOperation::SetAndRelease => "set-and-release-mac",
        };
        let states = self.number("gate-states-value", entry.gates as u8 & all_open);
        let interval = self.number("time-interval-value", entry.interval_ns);
        let mut elements = vec![
            self.number("index", index),
            self.element("operation-name", Value::Identity(Module::Sched, operation)),
        ];
        if self.is_of_2018 {
            elements.push(self.element("sgs-params", Value::Container(vec![states, interval])));
        } else {
            elements.extend([interval, states]);
        }
        elements
    }
}

fn gates(taprio: &Taprio, model: Model) -> Result<Vec<Element>, String> {
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
    let extension = extension.map_err(|_| "a cycle time extension beyond 4.294967295 s".to_owned())?;
    let all_open = ((1u16 << taprio.num_tc) - 1) as u8;
    let form = Form {
        module: match model {
            Model::Bridge => Module::SchedBridge,
            Model::Interface => Module::SchedInterface,
            Model::Of2018 => Module::Sched,
        },
        is_of_2018: model == Model::Of2018,
    };
    let entries: Vec<Vec<Element>> =
        taprio.entries.iter().zip(0..).map(|(entry, index)| form.entry(index, entry, all_open)).collect();
    let limits = taprio.max_sdu.iter().zip(0_u8..).filter(|(bytes, _)| **bytes > 0);
    let limits: Vec<Vec<Element>> = limits
        .map(|(bytes, class)| vec![form.number("traffic-class", class), form.number("queue-max-sdu", *bytes)])
        .collect();
    let cycle = vec![form.number("numerator", numerator), form.number("denominator", NS_PER_S)];
    let fraction = if form.is_of_2018 { "fractional-seconds" } else { "nanoseconds" };
    let base = vec![
        form.element("seconds", Value::Long(base / NS_PER_S)),
        match form.is_of_2018 {
            true => form.element(fraction, Value::Long(base % NS_PER_S)),
            false => form.number(fraction, base % NS_PER_S),
        },
    ];
    let mut table = Vec::new();
    if !limits.is_empty() && !form.is_of_2018 {
        table.push(form.element("queue-max-sdu-table", Value::List(limits.clone())));
    }
    table.push(form.element("gate-enabled", Value::Flag(true)));
    table.push(form.number("admin-gate-states", all_open));
    if form.is_of_2018 {
        table.push(form.number("admin-control-list-length", entries.len() as i64));
        table.push(form.element("admin-control-list", Value::List(entries)));
    } else {
        let list = form.element("gate-control-entry", Value::List(entries));
        table.push(form.element("admin-control-list", Value::Container(vec![list])));
    }
    table.push(form.element("admin-cycle-time", Value::Container(cycle)));
    table.extend(extension.map(|ns| form.number("admin-cycle-time-extension", ns)));
    table.push(form.element("admin-base-time", Value::Container(base)));
    table.push(form.element("config-change", Value::Flag(true)));
    let mut elements = Vec::new();
    if form.is_of_2018 {
        if !limits.is_empty() {
            elements.push(of_sched("max-sdu-table", Value::List(limits)));
        }
        elements.push(of_sched("gate-parameters", Value::Container(table)));
    } else {
        elements.push(form.element("gate-parameter-table", Value::Container(table)));
    }
    Ok(elements)
}
