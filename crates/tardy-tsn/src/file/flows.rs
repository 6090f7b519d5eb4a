//! `[[host]]` and `[[flow]]`.

use std::net::IpAddr;

use super::classes::class_number;
use super::keys::{Keys, Problems};
use super::switches::carried_marks;
use super::values::nearest;
use crate::network::{Class, Flow, Host, Limits, Marks, Network, Pace};
use crate::span::{Located, Span};

/// The most hosts, and the most flows, in a file.
const MOST: usize = 65_536;
/// The shortest Ethernet frame without its check sequence (`ETH_ZLEN` in `linux/if_ether.h`).
const FRAME_MIN: i64 = 60;
/// `ETH_P_IP` and `ETH_P_IPV6` in `linux/if_ether.h`.
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// The longest frame of any interface: a payload of 65,535 bytes, header and tag.
const FRAME_MAX: i64 = 65_535 + 18;

/// Reads `[[host]]` into `network`.
pub(super) fn hosts(keys: &mut Keys<'_>, network: &mut Network, problems: &mut Problems) {
    let tables = keys.tables("host", problems);
    if let Some(extra) = tables.get(MOST) {
        problems.add(extra.span, format!("there are more than {MOST} hosts"));
        return;
    }
    for mut table in tables {
        let name = table.text("name", problems);
        let interface = table.interface("interface", problems);
        let address = table.address("address", problems);
        let mac = table.mac("mac", problems);
        let Some(name) = name else {
            table.missing("name", "\"talker\"", problems);
            table.finish(problems);
            continue;
        };
        table.finish(problems);
        if name.value.contains('/') {
            problems.add(
                name.span,
                "a host's name cannot contain a slash: SWITCH/INTERFACE is a port".to_owned(),
            );
        }
        if network.hosts.iter().any(|host| host.name.value == name.value) {
            problems.add(name.span, format!("there are two hosts called '{}'", name.value));
        }
        network.hosts.push(Host { name, interface, address, mac });
    }
}

/// Reads each `[[flow]]` into `network`, which must already contain the hosts and cables.
pub(super) fn flows(tables: Vec<Keys<'_>>, network: &mut Network, problems: &mut Problems) {
    if let Some(extra) = tables.get(MOST) {
        problems.add(extra.span, format!("there are more than {MOST} flows"));
        return;
    }
    for table in tables {
        if let Some(flow) = flow(table, network, problems) {
            if network.flows.iter().any(|other| other.name.value == flow.name.value) {
                let name = &flow.name;
                problems.add(name.span, format!("there are two flows called '{}'", name.value));
            }
            network.flows.push(flow);
        }
    }
}

fn flow(mut keys: Keys<'_>, network: &Network, problems: &mut Problems) -> Option<Flow> {
    let span = keys.span;
    let name = keys.text("name", problems);
    if name.is_none() {
        keys.missing("name", "\"blue\"", problems);
    }
    let talker = host(&mut keys, "talker", network, problems);
    let listener = host(&mut keys, "listener", network, problems);
    let size = keys.number("size", FRAME_MIN..=FRAME_MAX, problems);
    if size.is_none() {
        keys.missing("size", "1514", problems);
    }
    let pace = pace(&mut keys, span, problems);
    let mut marks = carried_marks(&mut keys, problems);
    let classes: &[Class] = network.switches.first().map_or(&[], |switch| &switch.classes);
    let class = keys.take("class").and_then(|value| class_number(&value, classes, problems));
    let limits = limits(&mut keys, problems);
    keys.finish(problems);
    let (talker, listener) = (talker?, listener?);
    if talker.value == listener.value {
        problems.add(listener.span, "talker and listener are the same host".to_owned());
    }
    complete(&mut marks, &network.hosts[talker.value], &network.hosts[listener.value]);
    let size = size?.map(|size| size as u32);
    Some(Flow { name: name?, talker, listener, size, pace: pace?, marks, class, limits, span })
}

fn limits(keys: &mut Keys<'_>, problems: &mut Problems) -> Limits {
    Limits {
        deadline_ns: keys.duration("deadline", problems),
        jitter_ns: keys.duration("jitter", problems),
        loss_ppm: keys.share("loss", problems),
    }
}

/// Adds the fields that frames always carry: addresses, priority 0 of a tag, the protocol of UDP and TCP.
fn complete(marks: &mut Marks, talker: &Host, listener: &Host) {
    marks.source_mac = talker.mac.as_deref().copied();
    marks.destination_mac = listener.mac.as_deref().copied();
    if marks.vlan.is_some() {
        marks.pcp.get_or_insert(0);
    }
    if marks.udp_port.is_some() || marks.tcp_port.is_some() || marks.dscp.is_some() {
        let over_v6 = listener.address.as_deref().is_some_and(IpAddr::is_ipv6);
        marks.ethertype.get_or_insert(if over_v6 { ETHERTYPE_IPV6 } else { ETHERTYPE_IPV4 });
        marks.dscp.get_or_insert(0);
    }
}

fn host(
    keys: &mut Keys<'_>,
    key: &'static str,
    network: &Network,
    problems: &mut Problems,
) -> Option<Located<usize>> {
    let Some(name) = keys.text(key, problems) else {
        keys.missing(key, "\"HOST\"", problems);
        return None;
    };
    let found = network.hosts.iter().position(|host| host.name.value == name.value);
    if found.is_none() {
        let names = || network.hosts.iter().map(|host| host.name.value.as_str());
        let advice = match nearest(&name.value, names()) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None => format!("write to = \"{}\" in the [[switch.port]] that it is connected to", name.value),
        };
        problems.add(name.span, format!("there is no host '{}'; {advice}", name.value));
    }
    found.map(|place| Located::new(place, name.span))
}

/// `flat_out = true`, or `period` with the optional keys `offset` and `frames`.
fn pace(keys: &mut Keys<'_>, span: Span, problems: &mut Problems) -> Option<Pace> {
    let flat_out = keys.take("flat_out").and_then(|value| value.flag(problems)).unwrap_or(false);
    let period = keys.duration("period", problems);
    let offset = keys.duration("offset", problems);
    let frames = keys.number("frames", 1..=1_000_000, problems);
    match (flat_out, period) {
        (true, None) => {
            for extra in
                [offset.map(|offset| offset.span), frames.map(|frames| frames.span)].into_iter().flatten()
            {
                problems.add(extra, "a flow with flat_out has no period; remove this key".to_owned());
            }
            Some(Pace::FlatOut)
        }
        (false, Some(period)) if period.value > 0 => Some(Pace::Periodic {
            period_ns: period.value,
            offset_ns: offset.map_or(0, |offset| offset.value),
            frames: frames.map_or(1, |frames| frames.value as u32),
        }),
        (false, Some(period)) => {
            problems.add(
                period.span,
                "a period must be longer than 0; write flat_out = true to send as fast as possible"
                    .to_owned(),
            );
            None
        }
        (true, Some(period)) => {
            problems.add(period.span, "period and flat_out are alternatives; write one of them".to_owned());
            None
        }
        // An invalid period is already reported.
        (false, None) if keys.has("period") => None,
        (false, None) => {
            problems.add(span, "the flow has no period; add period = \"1ms\", or flat_out = true".to_owned());
            None
        }
    }
}
