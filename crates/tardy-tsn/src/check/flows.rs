//! Flows: whether they reach their listener, in the intended class, and whether their windows carry them.

use tardy_record::units::format_duration_ns;

use super::{Found, Place, Ways};
use crate::network::{End, Flow, Network, Pace, PortId, Switch};
use crate::settings::{self, PortVlan};
use crate::transmission_time::bytes_in;

/// Checks the flows that enter a switch.
pub(super) fn of_switch(network: &Network, number: usize, ways: &Ways<'_>, found: &mut Found<'_>) {
    let switch = &network.switches[number];
    for (flow, way) in ways {
        match way {
            // Reported once, at the first switch.
            None if number == 0 => no_way(network, flow, found),
            None => {}
            Some(way) => {
                if let Some(out) = way.iter().find(|port| port.switch == number) {
                    wrong_class(switch, flow, found);
                    wrong_vlan(network, flow, *out, way, found);
                }
            }
        }
    }
}

/// The flows that leave by `port`.
pub(super) fn through<'a>(ways: &Ways<'a>, port: PortId) -> Vec<&'a Flow> {
    let leaves = |way: &Option<Vec<PortId>>| way.as_ref().is_some_and(|way| way.contains(&port));
    ways.iter().filter(|(_, way)| leaves(way)).map(|(flow, _)| *flow).collect()
}

fn no_way(network: &Network, flow: &Flow, found: &mut Found<'_>) {
    let name = |host: usize| &network.hosts[host].name.value;
    let (talker, listener) = (name(flow.talker.value), name(flow.listener.value));
    found.accepted(
        "no-way",
        flow.span,
        [
            format!("no cables lead from {talker} to {listener}"),
            format!("Flow '{}' does not arrive.", flow.name.value),
            format!(
                "Write to = \"{talker}\" and to = \"{listener}\" at the ports that they are connected to."
            ),
        ],
    );
}

fn wrong_class(switch: &Switch, flow: &Flow, found: &mut Found<'_>) {
    let (Some(wanted), Some((class, _))) = (&flow.class, switch.misclassified(flow)) else { return };
    let priority = switch.priority_of(&flow.marks);
    let rule = switch.classifiers.iter().any(|rule| rule.matches.match_frame(&flow.marks));
    let why = if rule { "the rules give it" } else { "no rule matches, so it has" };
    let (is, should) = (switch.class_name(class), switch.class_name(wanted.value));
    let priority_wanted = (0..16).find(|priority| switch.class_of_priority(*priority) == wanted.value);
    let change = match priority_wanted {
        Some(priority) => format!("Add a [[classify]] that matches it, with priority = {priority}."),
        None => format!("First put \"{should}\" into priority_map: no priority has this class."),
    };
    found.accepted(
        "wrong-class",
        wanted.span,
        [
            format!("flow '{}' gets class {is}, not {should}", flow.name.value),
            format!("Its frames leave in the windows of {is}: {why} priority {priority}."),
            change,
        ],
    );
}

/// A bridge with VLAN filtering drops frames of a VLAN that the ingress or the egress port is not a member of.
fn wrong_vlan(network: &Network, flow: &Flow, out: PortId, way: &[PortId], found: &mut Found<'_>) {
    let switch = &network.switches[out.switch];
    if switch.ports.iter().all(|port| port.vlans.is_empty()) {
        return;
    }
    let settings = settings::of(switch);
    let Some(into) = way_in(network, flow, out, way) else { return };
    let (into, out) = (&settings.ports[into], &settings.ports[out.port]);
    let tagged = flow.marks.vlan.filter(|id| *id != 0);
    let Some(vlan) = tagged.or_else(|| into.vlans.iter().find(|vlan| vlan.pvid).map(|vlan| vlan.id)) else {
        let interface = &into.interface;
        let why = format!("has no tag, and {interface} has no pvid");
        return dropped(flow, &why, interface, "pvid = 1", found);
    };
    let member = |vlans: &[PortVlan]| vlans.iter().any(|known| known.id == vlan);
    for port in [into, out] {
        if !member(&port.vlans) {
            let change = format!("tagged = [{vlan}]");
            let why = format!("is in VLAN {vlan}, and {} is not", port.interface);
            return dropped(flow, &why, &port.interface, &change, found);
        }
    }
}

fn dropped(flow: &Flow, why: &str, interface: &str, change: &str, found: &mut Found<'_>) {
    found.accepted(
        "wrong-vlan",
        flow.span,
        [
            format!("flow '{}' {why}", flow.name.value),
            "The bridge drops all its frames.".to_owned(),
            format!("Write {change} at {interface}, or change the flow."),
        ],
    );
}

/// The port by which the flow enters the switch of `out`.
fn way_in(network: &Network, flow: &Flow, out: PortId, way: &[PortId]) -> Option<usize> {
    let place = way.iter().position(|port| *port == out)?;
    let from = match place.checked_sub(1) {
        Some(before) => network.far_end(way[before]),
        None => network.port_of_host(flow.talker.value).map(|(port, _)| End::Port(port)),
    };
    match from {
        Some(End::Port(port)) if port.switch == out.switch => Some(port.port),
        _ => None,
    }
}

/// The lengths of a class's frames, in bytes on the wire.
struct FrameLengths {
    shortest: u64,
    longest: u64,
}

impl FrameLengths {
    fn of(lengths: impl Iterator<Item = u64>) -> Self {
        let (shortest, longest) =
            lengths.fold((u64::MAX, 1), |(shortest, longest), one| (shortest.min(one), longest.max(one)));
        Self { shortest: shortest.clamp(1, longest), longest }
    }

    /// An upper bound of the bytes that such frames can fill of a window. Frames of one length leave a rest at its end, which is its guard
    /// band; frames of several lengths may leave none.
    fn most_in(&self, window: u64) -> u64 {
        if self.shortest == self.longest {
            window / self.longest * self.longest
        } else if window < self.shortest {
            0
        } else {
            window
        }
    }
}

/// Checks whether the windows of each class carry its periodic flows.
pub(super) fn of_port(place: &Place<'_>, found: &mut Found<'_>) {
    let Some(speed) = place.device.speed_for_kernel() else { return };
    let cycle = place.running_cycle_ns();
    if cycle == 0 {
        return;
    }
    for class in 0..place.switch.classes.len() {
        let flows: Vec<&Flow> = place
            .flows
            .iter()
            .copied()
            .filter(|flow| usize::from(place.switch.class_of(&flow.marks)) == class)
            .collect();
        let per_second = |flow: &Flow| match flow.pace {
            Pace::FlatOut => 0,
            Pace::Periodic { period_ns, frames, .. } => {
                let bytes = u128::from(place.on_wire(flow.size.value)) * u128::from(frames);
                bytes * 1_000_000_000 / u128::from(period_ns)
            }
        };
        let offered: u128 = flows.iter().map(|flow| per_second(flow)).sum();
        let Some(last) = flows.iter().rfind(|flow| per_second(flow) > 0) else { continue };
        let openings = place.schedule.openings(class);
        let carried: u64 = if openings.is_always_open() {
            bytes_in(cycle, speed)
        } else {
            let frames = FrameLengths::of(flows.iter().map(|flow| place.on_wire(flow.size.value)));
            openings.openings.iter().map(|one| frames.most_in(bytes_in(one.length_ns(), speed))).sum()
        };
        // A class that never opens, or whose windows hold no frame, is already reported.
        if carried == 0 || offered * u128::from(cycle) <= u128::from(carried) * 1_000_000_000 {
            continue;
        }
        let names: Vec<String> = flows.iter().map(|flow| format!("flow '{}'", flow.name.value)).collect();
        let send = if names.len() == 1 { "sends" } else { "send" };
        let rate = |bytes_per_second: u128| {
            let bits = u64::try_from(bytes_per_second * 8).unwrap_or(u64::MAX);
            // Three digits are enough for a comparison.
            let step = 10u64.pow(bits.max(1000).ilog10() - 3);
            crate::file::format_rate((bits / step * step).max(1))
        };
        found.accepted(
            "more-than-windows-carry",
            last.span,
            [
                format!("{} {send} more than {} carries", names.join(" and "), place.class(class)),
                format!(
                    "The offered load is {} with overhead, {} bytes per {}; the windows carry {carried} bytes in whole frames, {}. The queue fills up and then drops frames.",
                    rate(offered),
                    (offered * u128::from(cycle)).div_ceil(1_000_000_000),
                    format_duration_ns(cycle),
                    rate(u128::from(carried) * 1_000_000_000 / u128::from(cycle)),
                ),
                "Make the windows longer, the period longer or the frames shorter.".to_owned(),
            ],
        );
    }
}
