//! Whether a new network has everything that an old one has.

use tardy_record::units::format_duration_ns;
use tardy_tsn::network::{End, Network, PortId, Switch};

/// What the new network lacks of the old one, or has with other properties, as sentences; empty if a schedule of the old one can
/// be extended. Properties that gates and frames do not depend on may differ.
pub(super) fn find(old: &Network, new: &Network) -> Vec<String> {
    let mut differences = Vec::new();
    for (number, before) in old.switches.iter().enumerate() {
        let name = &before.name.value;
        let after = new.switches.iter().position(|switch| switch.name.value == *name);
        match after {
            Some(place) => {
                of_switch(before, &new.switches[place], &mut differences);
                of_ports((old, number), (new, place), &mut differences);
            }
            None => differences.push(format!("there is no switch {name}")),
        }
    }
    differences
}

fn of_switch(before: &Switch, after: &Switch, differences: &mut Vec<String>) {
    let name = &before.name.value;
    let mut compare = |what: &str, was: String, is: String| {
        if was != is {
            differences.push(format!("switch {name}: its {what} was {was} and is {is}"));
        }
    };
    let time = |switch: &Switch| format_duration_ns(switch.forwarding_ns);
    compare("forwarding", time(before), time(after));
    let classes = |switch: &Switch| {
        let class = |class: usize| {
            let queues = switch.queues_of(class);
            format!("{} {}@{}", switch.class_name(class as u8), queues.count, queues.offset)
        };
        (0..switch.classes.len()).map(class).collect::<Vec<_>>().join(", ")
    };
    compare("list of classes", classes(before), classes(after));
    let map = |switch: &Switch| {
        (0..16).map(|priority| switch.class_of_priority(priority).to_string()).collect::<Vec<_>>().join(" ")
    };
    compare("priority_map", map(before), map(after));
}

fn of_ports(
    (old, before): (&Network, usize),
    (new, after): (&Network, usize),
    differences: &mut Vec<String>,
) {
    let switch = &old.switches[before].name.value;
    for (port, known) in old.switches[before].ports.iter().enumerate() {
        let name = &known.interface.value;
        let place = new.switches[after].ports.iter().position(|other| other.interface.value == *name);
        let Some(place) = place else {
            differences.push(format!("switch {switch} has no port {name}"));
            continue;
        };
        let was = cable(old, PortId { switch: before, port });
        let is = cable(new, PortId { switch: after, port: place });
        let changed = was.into_iter().zip(is).find(|(was, is)| was.1 != is.1);
        if let Some(((what, was), (_, is))) = changed {
            differences.push(format!("port {name} of switch {switch}: its {what} was {was} and is {is}"));
        }
    }
}

/// The properties of a port's cable.
fn cable(network: &Network, id: PortId) -> [(&'static str, String); 3] {
    let own = End::Port(id);
    let link = network.links.iter().find(|link| link.a == own || link.b == own);
    let Some(link) = link else {
        return [
            ("other end", "nothing".to_owned()),
            ("speed", String::new()),
            ("propagation", String::new()),
        ];
    };
    let far = match if link.a == own { link.b } else { link.a } {
        End::Host(host) => network.hosts[host].name.value.clone(),
        End::Port(port) => {
            let switch = &network.switches[port.switch];
            format!("{}/{}", switch.name.value, switch.ports[port.port].interface.value)
        }
    };
    let speed = link
        .bits_per_second
        .map_or_else(|| "unknown".to_owned(), |rate| format!("{} Mbit/s", rate / 1_000_000));
    [("other end", far), ("speed", speed), ("propagation", format_duration_ns(link.propagation_ns))]
}
