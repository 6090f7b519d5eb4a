//! Talkers and listeners that are interfaces of this machine, cabled to a switch that is already up: another machine,
//! or other ports of this one.

use tardy_record::switch::{PortSchedule, ScheduleSource};
use tardy_sys::links::{self, LinkInfo};
use tardy_sys::qdiscs::{self, Etf};
use tardy_sys::taprio;
use tardy_tsn::network::{Host, Network, Pace};

use super::port_schedule::{InForce, schedule_of};

/// A host that is an interface of this machine.
#[derive(Clone, Debug)]
pub(super) struct Cabled {
    /// The interface.
    pub(super) interface: String,
    /// Its hardware address.
    pub(super) address: [u8; 6],
    /// Its ETF queueing discipline, which sends frames at their transmit times, if it has one.
    pub(super) etf: Option<Etf>,
}

/// The hosts of `network` as interfaces of this machine; `None` for a host without flows.
///
/// # Errors
/// A message for the user: everything that is missing, one line each.
pub(super) fn hosts(network: &Network) -> Result<Vec<Option<Cabled>>, String> {
    let present = links::all().map_err(|error| format!("cannot list the network interfaces: {error}"))?;
    let mut problems = Vec::new();
    let mut hosts = Vec::new();
    for (index, host) in network.hosts.iter().enumerate() {
        let is_used =
            network.flows.iter().any(|flow| flow.talker.value == index || flow.listener.value == index);
        let cabled = is_used.then(|| cabled(host, &present)).transpose();
        hosts.push(cabled.unwrap_or_else(|problem| {
            problems.push(problem);
            None
        }));
    }
    if problems.is_empty() {
        problems.extend(about_flows(network, &hosts));
    }
    if problems.is_empty() { Ok(hosts) } else { Err(problems.join("\n")) }
}

fn cabled(host: &Host, present: &[LinkInfo]) -> Result<Cabled, String> {
    let name = &host.name.value;
    let Some(interface) = host.interface.as_ref().map(|interface| &interface.value) else {
        return Err(format!(
            "host '{name}' has no interface: name the interface of this machine that is cabled to the switch, \
             [[host]] name = \"{name}\" interface = \"eth1\"; or use --netns, which needs no interface"
        ));
    };
    let Some(link) = present.iter().find(|link| link.name == *interface) else {
        let names: Vec<&str> = present.iter().map(|link| link.name.as_str()).collect();
        return Err(format!(
            "host '{name}': there is no interface {interface}; there are {}",
            names.join(", ")
        ));
    };
    if let Some(master) = link.master {
        let master = present.iter().find(|link| link.index == master).map_or("a bridge", |link| &link.name);
        return Err(format!(
            "host '{name}': {interface} is a port of {master}, but a talker's frames must enter the switch at a port; \
             name the interface at the other end of the cable"
        ));
    }
    if !link.is_up {
        return Err(format!("host '{name}': {interface} is down: ip link set {interface} up"));
    }
    if !link.has_carrier {
        return Err(format!(
            "host '{name}': {interface} has no carrier: connect its cable to a device that is up"
        ));
    }
    let Ok(address) = <[u8; 6]>::try_from(link.address.as_slice()) else {
        return Err(format!("host '{name}': {interface} is not an Ethernet interface"));
    };
    if let Some(mac) = host.mac.as_ref().filter(|mac| mac.value != address) {
        let words = |mac: [u8; 6]| mac.map(|byte| format!("{byte:02x}")).join(":");
        let (given, own) = (words(mac.value), words(address));
        return Err(format!("host '{name}' has mac = \"{given}\" in the file, but {interface} has {own}"));
    }
    let all = qdiscs::of(interface).unwrap_or_default();
    Ok(Cabled { interface: interface.clone(), address, etf: all.iter().find_map(qdiscs::Qdisc::etf) })
}

fn about_flows(network: &Network, hosts: &[Option<Cabled>]) -> Vec<String> {
    let mut problems = Vec::new();
    for flow in &network.flows {
        let name = &flow.name.value;
        let ends = [flow.talker.value, flow.listener.value].map(|host| hosts[host].as_ref());
        let [Some(talker), Some(listener)] = ends else { continue };
        if talker.interface == listener.interface {
            problems.push(format!(
                "flow '{name}': talker and listener are the same interface, {}, and a switch does not send a frame back \
                 to the port on which it arrived; use a second interface",
                talker.interface
            ));
        }
        if talker.etf.is_some() && flow.pace == Pace::FlatOut {
            problems.push(format!(
                "flow '{name}': {} has ETF, which drops every frame without a transmit time, such as those of a flow without a \
                 period; give the flow a period, or remove ETF: tc qdisc del dev {} root",
                talker.interface, talker.interface
            ));
        }
    }
    problems
}

/// The schedules of the switches' ports, and when each is in force: read from the kernel if they are on this machine and
/// have a shaper, else from the file.
pub(super) fn schedules(network: &Network) -> Vec<(PortSchedule, InForce)> {
    let ports =
        network.switches.iter().flat_map(|switch| switch.ports.iter().map(move |port| (switch, port)));
    let of_port = |(switch, port)| {
        let (mut schedule, in_force) = schedule_of(switch, port, None)?;
        if schedule.source == ScheduleSource::Sent {
            schedule.source = ScheduleSource::File;
        }
        Some((schedule, in_force))
    };
    ports.filter_map(of_port).collect()
}

/// The queues of the ports of this machine: for each the port, the waiting frames, and the dropped frames.
pub(super) fn queues(schedules: &[PortSchedule]) -> Vec<(String, u32, u32)> {
    let read = schedules.iter().filter(|schedule| schedule.source == ScheduleSource::ReadBack);
    let of_port = |schedule: &PortSchedule| {
        let shown = taprio::shown(&schedule.port).ok()??;
        Some((schedule.port.clone(), shown.waiting_frames, shown.dropped))
    };
    read.filter_map(of_port).collect()
}
