//! Problems of bridges and cables that do not depend on gates.

use super::{Found, Kind};
use crate::network::{End, Network, Port, Switch};

/// Checks the ports of a switch.
pub(super) fn of_switch(switch: &Switch, found: &mut Found<'_>) {
    for port in &switch.ports {
        found.in_switch(switch, Some(port));
        if port.interface.value == switch.name.value {
            named_like_switch(switch, port, found);
        }
        if port.interface.value == "lo" {
            loopback(port, found);
        }
    }
}

/// `__dev_get_by_name()` in rtnl_newlink(): interface names are unique.
fn named_like_switch(switch: &Switch, port: &Port, found: &mut Found<'_>) {
    let name = &switch.name.value;
    found.add(
        "switch-named-like-port",
        Kind::Refused { errno: "EEXIST", message: "File exists".to_owned() },
        port.interface.span,
        [
            format!("the switch and its port are both called {name}"),
            "The bridge gets the switch's name, and two interfaces cannot have the same name: nothing is set up."
                .to_owned(),
            format!("Give the switch another name, such as \"tsn0\"; the port keeps {name}."),
        ],
    );
}

/// `br_add_if()` in net/bridge/br_if.c takes Ethernet devices only.
fn loopback(port: &Port, found: &mut Found<'_>) {
    found.add(
        "loopback-as-port",
        Kind::Refused { errno: "EINVAL", message: "Invalid argument".to_owned() },
        port.interface.span,
        [
            "lo is not an Ethernet device".to_owned(),
            "The kernel does not accept it as a port of a bridge.".to_owned(),
            "Name an interface with a cable. For an experiment on one machine any other name works: `tardy tsn test --netns` creates the interface."
                .to_owned(),
        ],
    );
}

/// Checks for cables that form a loop of switches. The bridges do not run the spanning tree protocol, which would break
/// the loop.
pub(super) fn rings(network: &Network, found: &mut Found<'_>) {
    // Connected switches have the same number, which is the index of one of them.
    let mut island: Vec<usize> = (0..network.switches.len()).collect();
    for link in &network.links {
        let (End::Port(a), End::Port(b)) = (link.a, link.b) else { continue };
        let (one, other) = (island[a.switch], island[b.switch]);
        if one != other {
            island.iter_mut().filter(|number| **number == other).for_each(|number| *number = one);
            continue;
        }
        let switch = &network.switches[a.switch];
        let port = &switch.ports[a.port];
        let far = &network.switches[b.switch];
        found.in_switch(switch, Some(port));
        found.accepted(
            "ring-of-bridges",
            port.span,
            [
                format!(
                    "the cable from {}/{} to {}/{} closes a loop",
                    switch.name.value,
                    port.interface.value,
                    far.name.value,
                    far.ports[b.port].interface.value
                ),
                "A broadcast frame, or a frame to an address that no switch has learnt, circulates for ever and fills every port: the bridges do not run a spanning tree protocol."
                    .to_owned(),
                "Remove one cable of the loop, or put its ports into separate VLANs; keep the loop only for switches that break it themselves."
                    .to_owned(),
            ],
        );
    }
}
