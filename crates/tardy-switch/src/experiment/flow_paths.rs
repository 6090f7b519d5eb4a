//! The path of each flow: its switches, its addresses, and the schedule of its last port.

use tardy_sys::clock::Clock;
use tardy_tsn::network::{Flow, Network};
use tardy_tsn::transmission_time::OVERHEAD_BYTES;

/// The shortest frame without its checksum, in bytes.
const FRAME_BYTES_MIN: u32 = 60;
/// The cycle of a flow in a network without schedules, in ns.
const NO_CYCLE_NS: u64 = 1_000_000;

/// The path of a flow.
#[derive(Clone, Debug)]
pub(super) struct FlowPath {
    /// Its class at the last switch.
    pub(super) class: u8,
    /// The interface of its last port.
    pub(super) port: String,
    /// The clock of that port's schedule, or TAI.
    pub(super) clock: Clock,
    /// A start of its cycle, on that clock.
    pub(super) base_ns: i64,
    /// Length of its cycle.
    pub(super) cycle_ns: u64,
    /// Bytes that each frame takes on the wire.
    pub(super) wire_bytes: u64,
}

/// The path of `flow`.
///
/// # Errors
/// A message for the user, if no path leads to its listener.
pub(super) fn of(network: &Network, flow: &Flow) -> Result<FlowPath, String> {
    let name = &flow.name.value;
    let ways = network.way_out(flow).filter(|ways| !ways.is_empty());
    let last = ways.and_then(|ways| ways.last().copied());
    let last = last.ok_or_else(|| format!("flow '{name}' has no path through a switch to its listener"))?;
    let switch = &network.switches[last.switch];
    let port = &switch.ports[last.port];
    // If the last port has no schedule, that of another port is used.
    let any =
        network.switches.iter().flat_map(|switch| &switch.ports).find_map(|port| port.schedule.as_ref());
    let schedule = port.schedule.as_ref().or(any);
    let clock = schedule
        .and_then(|schedule| schedule.clock.as_ref())
        .and_then(|clock| Clock::of_id(clock.value.id()));
    Ok(FlowPath {
        class: switch.class_of(&flow.marks),
        port: port.interface.value.clone(),
        clock: clock.unwrap_or(Clock::Tai),
        base_ns: schedule.map_or(0, |schedule| schedule.base_time_ns.value),
        cycle_ns: schedule.map_or(NO_CYCLE_NS, |schedule| schedule.cycle_ns()).max(1),
        wire_bytes: wire_bytes(flow.size.value),
    })
}

/// The bytes that a frame of `bytes` takes on the wire.
pub(super) fn wire_bytes(bytes: u32) -> u64 {
    u64::from(bytes.max(FRAME_BYTES_MIN) + OVERHEAD_BYTES)
}

/// The rate at which a host may send into the switch, in bit/s: the file's, or the speed of the port at the other end.
pub(super) fn ingress_bps(network: &Network, host: usize) -> Option<u64> {
    let port = network.port_of_host(host).map(|(port, _)| port);
    let of_port = port.and_then(|port| network.switches[port.switch].ports[port.port].speed.value.known());
    network.netns.ingress_bits_per_second.or(of_port)
}
