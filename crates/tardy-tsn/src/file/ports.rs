//! `[[switch.port]]` and the cables between ports.

use super::keys::{Keys, Problems};
use super::schedule;
use super::values::{self, nearest};
use crate::network::{Class, End, Host, Link, Network, Port, PortId, PortVlans, Speed};
use crate::span::Located;

/// The most ports of a switch (`BR_MAX_PORTS` in `net/bridge/br_private.h`).
const PORTS_MAX: usize = 1024;
/// Propagation takes about 5 ns per metre of cable, electrical or optical.
const NS_PER_METRE: u64 = 5;

/// The far end of a port's cable, as written.
pub(super) struct CableEnd {
    port: PortId,
    to: Located<String>,
}

/// Reads the ports of the switch with index `place`.
pub(super) fn read(
    keys: &mut Keys<'_>,
    place: usize,
    classes: &[Class],
    ends: &mut Vec<CableEnd>,
    problems: &mut Problems,
) -> Vec<Port> {
    let tables = keys.tables("port", problems);
    if tables.is_empty() {
        problems.add(
            keys.span,
            "the switch has no ports; add [[switch.port]] with an interface for each".to_owned(),
        );
    }
    if let Some(extra) = tables.get(PORTS_MAX) {
        problems.add(extra.span, format!("a bridge has at most {PORTS_MAX} ports"));
        return Vec::new();
    }
    let mut ports: Vec<Port> = Vec::new();
    for table in tables {
        let id = PortId { switch: place, port: ports.len() };
        if let Some(port) = port(table, id, classes, ends, problems) {
            if ports.iter().any(|other| other.interface.value == port.interface.value) {
                let interface = &port.interface;
                problems.add(interface.span, format!("there are two ports on '{}'", interface.value));
            }
            ports.push(port);
        }
    }
    ports
}

fn port(
    mut keys: Keys<'_>,
    id: PortId,
    classes: &[Class],
    ends: &mut Vec<CableEnd>,
    problems: &mut Problems,
) -> Option<Port> {
    let span = keys.span;
    let interface = keys.interface("interface", problems);
    if interface.is_none() {
        keys.missing("interface", "\"swp0\"", problems);
    }
    if let Some(to) = keys.text("to", problems) {
        ends.push(CableEnd { port: id, to });
    }
    let speed = speed(&mut keys, problems);
    let queues = keys.number("queues", 1..=65535, problems).map(|queues| queues.map(|queues| queues as u16));
    let propagation_ns = propagation(&mut keys, problems);
    let vlans = vlans(&mut keys, problems);
    let schedule = schedule::read(&mut keys, classes, problems);
    keys.finish(problems);
    Some(Port { interface: interface?, speed, queues, propagation_ns, vlans, schedule, span })
}

fn speed(keys: &mut Keys<'_>, problems: &mut Problems) -> Located<Speed> {
    let absent = Located::new(Speed::AsKernelSays, keys.span);
    let Some(value) = keys.take("speed") else { return absent };
    let read = value.parsed(problems, |text| {
        if text == "unknown" {
            Ok(Speed::Unknown)
        } else {
            values::port_speed(text).map(Speed::BitsPerSecond)
        }
    });
    read.unwrap_or(absent)
}

/// `length = "10m"` or `propagation = "50ns"`.
fn propagation(keys: &mut Keys<'_>, problems: &mut Problems) -> u64 {
    let length = keys.take("length").and_then(|value| {
        value.parsed(problems, |text| {
            let metres = text.trim().strip_suffix('m').and_then(|number| number.trim().parse::<u32>().ok());
            metres.ok_or_else(|| format!("'{text}' is not a length; write whole metres, such as 10m"))
        })
    });
    let propagation = keys.duration("propagation", problems);
    if let (Some(length), Some(_)) = (&length, &propagation) {
        problems.add(length.span, "length and propagation are alternatives; write one of them".to_owned());
    }
    let by_length = length.map_or(0, |metres| u64::from(metres.value) * NS_PER_METRE);
    propagation.map_or(by_length, |time| time.value)
}

fn vlans(keys: &mut Keys<'_>, problems: &mut Problems) -> PortVlans {
    let as_id = |id: Located<i64>| id.map(|id| id as u16);
    let untagged = keys.number("pvid", 1..=4094, problems).map(as_id);
    let tagged = keys.list("tagged", problems);
    let tagged = tagged.iter().filter_map(|value| value.number(1..=4094, problems)).map(as_id).collect();
    PortVlans { untagged, tagged }
}

/// Creates the cables that the ports name, and hosts that are not described elsewhere.
pub(super) fn join(ends: Vec<CableEnd>, network: &mut Network, problems: &mut Problems) {
    for CableEnd { port, to } in ends {
        // A port that could not be read is already reported.
        if network.switches.get(port.switch).and_then(|switch| switch.ports.get(port.port)).is_none() {
            continue;
        }
        let Some(far) = end(&to, network, problems) else { continue };
        let (a, b) = (End::Port(port), far);
        if a == b {
            problems.add(to.span, "this cable ends at its own port".to_owned());
            continue;
        }
        let known = network.links.iter().any(|link| (link.a, link.b) == (b, a));
        // Both ends of a cable may name it.
        if known {
            continue;
        }
        for end in [a, b] {
            if network.links.iter().any(|link| link.a == end || link.b == end) {
                problems.add(to.span, format!("{} already has a cable", describe_end(network, end)));
            }
        }
        let link = link(network, a, b);
        network.links.push(link);
    }
}

fn link(network: &Network, a: End, b: End) -> Link {
    let port = |end| match end {
        End::Port(id) => Some(&network.switches[id.switch].ports[id.port]),
        End::Host(_) => None,
    };
    let both = || [a, b].into_iter().filter_map(port);
    Link {
        a,
        b,
        propagation_ns: both().map(|port| port.propagation_ns).max().unwrap_or(0),
        bits_per_second: both().filter_map(|port| port.speed.known()).min(),
    }
}

/// `HOST`, or `SWITCH/INTERFACE`.
fn end(to: &Located<String>, network: &mut Network, problems: &mut Problems) -> Option<End> {
    let Some((switch, interface)) = to.value.split_once('/') else {
        return Some(End::Host(host(to, network)));
    };
    let names: Vec<String> = network
        .switches
        .iter()
        .flat_map(|switch| {
            switch.ports.iter().map(|port| format!("{}/{}", switch.name.value, port.interface.value))
        })
        .collect();
    for (number, known) in network.switches.iter().enumerate() {
        if known.name.value == switch
            && let Some(port) = known.ports.iter().position(|port| port.interface.value == interface)
        {
            return Some(End::Port(PortId { switch: number, port }));
        }
    }
    let advice = match nearest(&to.value, names.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => "a cable's end is a host, or SWITCH/INTERFACE".to_owned(),
    };
    problems.add(to.span, format!("there is no port '{}'; {advice}", to.value));
    None
}

/// The host with this name; it is created if it is not described.
fn host(name: &Located<String>, network: &mut Network) -> usize {
    if let Some(known) = network.hosts.iter().position(|host| host.name.value == name.value) {
        return known;
    }
    network.hosts.push(Host { name: name.clone(), interface: None, address: None, mac: None });
    network.hosts.len() - 1
}

fn describe_end(network: &Network, end: End) -> String {
    match end {
        End::Host(host) => format!("host '{}'", network.hosts[host].name.value),
        End::Port(id) => format!("port '{}'", network.switches[id.switch].ports[id.port].interface.value),
    }
}
