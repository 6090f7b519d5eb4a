//! The ports and flows of a network, as servers and arrival curves.

use tardy_record::gates::{AfterLast, Openings};
use tardy_tsn::network::{Network, PortId, Schedule};
use tardy_tsn::simulate::Mode;
use tardy_tsn::simulate::of_network::{transmitter_of, wire};
use tardy_tsn::simulate::wiring::{
    Device, Discipline, Hop, Release, Stream, Transmitter, Wiring, WiringError,
};
use tardy_tsn::transmission_time::{self, OnCable};

use super::arrival::Arrival;
use super::port::kernel::KernelPort;
use super::port::{Crossing, Gates, Inflow, KernelFrame, Port, Selection};
use super::{NoBound, Options};

/// Everything that does not change during the computation.
pub(super) struct Model {
    pub(super) names: Vec<String>,
    pub(super) ports: Vec<Port>,
    pub(super) flows: Vec<FlowModel>,
}

/// A flow.
pub(super) struct FlowModel {
    /// Its frames at the talker.
    pub(super) released: Inflow,
    pub(super) hops: Vec<HopModel>,
    /// Why frames do not arrive although every port of its route passes them.
    pub(super) ends_early: Option<NoBound>,
}

/// A flow's port.
pub(super) struct HopModel {
    pub(super) port: String,
    /// The index of the port.
    pub(super) number: usize,
    /// The shortest time at the port, in ps.
    pub(super) least_ps: i64,
    /// The shortest time from the port to the next queue, and by how much it varies, in ps.
    pub(super) cable_least_ps: i64,
    pub(super) cable_variation_ps: i64,
}

impl Model {
    pub(super) fn of(network: &Network, options: &Options) -> Result<Self, WiringError> {
        let mut simulated = options.simulated.clone();
        (simulated.lead_ns, simulated.replaced_after_ns) = (0, None);
        (simulated.installed_ns, simulated.gate_timer_ns) = (None, Vec::new());
        let wiring = wire(network, &simulated, true)?.wiring;
        let mut ports: Vec<Port> = wiring
            .transmitters
            .iter()
            .map(|transmitter| Port {
                name: transmitter.name.clone(),
                crossings: Vec::new(),
                rules: transmitter.class_rules.clone(),
                selection: Selection::Standard(None),
                is_host: true,
                tokens_ps: 0,
            })
            .collect();
        for (number, switch) in network.switches.iter().enumerate() {
            for port in 0..switch.ports.len() {
                let id = PortId { switch: number, port };
                let place = transmitter_of(network, id) as usize;
                ports[place].is_host = false;
                ports[place].selection =
                    selection(network, options, id, &wiring.transmitters[place], wiring.zero_ns);
            }
        }
        let mut flows = Vec::new();
        for (number, stream) in wiring.streams.iter().enumerate() {
            flows.push(add_flow(network, options, &wiring, number, stream, &mut ports));
        }
        for (port, transmitter) in ports.iter_mut().zip(&wiring.transmitters) {
            if let Device::Bucket(burst_ps) = transmitter.device
                && !port.crossings.iter().any(|crossing| crossing.fills_gaps)
            {
                port.tokens_ps = signed(burst_ps);
            }
        }
        let names = network.flows.iter().map(|flow| flow.name.value.clone()).collect();
        Ok(Self { names, ports, flows })
    }

    /// Whether the delays of a port depend on themselves.
    pub(super) fn is_in_circle(&self, port: usize) -> bool {
        let mut seen = vec![false; self.ports.len()];
        let mut open = vec![port];
        while let Some(from) = open.pop() {
            for flow in &self.flows {
                let after = flow.hops.iter().skip_while(|hop| hop.number != from).nth(1);
                let Some(next) = after.map(|hop| hop.number) else { continue };
                if next == port {
                    return true;
                }
                if !seen[next] {
                    seen[next] = true;
                    open.push(next);
                }
            }
        }
        false
    }
}

fn ps(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX / 4000).min(i64::MAX / 4000) * 1000
}

fn signed(ps: u64) -> i64 {
    i64::try_from(ps).unwrap_or(i64::MAX / 4)
}

/// What a frame takes at a transmitter, in ps.
struct Taken {
    /// For how long it occupies the device.
    work_ps: i64,
    /// The part of that after its last bit: the gap that keeps the next frame away.
    gap_ps: i64,
    /// The shortest time until its last bit is sent.
    least_ps: i64,
}

impl Taken {
    fn by(device: Device, hop: &Hop) -> Self {
        let OnCable { sent_ps, busy_ps } = hop.on_cable;
        match device {
            Device::Mac | Device::Ring(_) => {
                let gap_ps = signed(busy_ps - sent_ps);
                Self { work_ps: signed(busy_ps), gap_ps, least_ps: signed(sent_ps) }
            }
            Device::Instant(cost_ns) => Self { work_ps: ps(cost_ns), gap_ps: 0, least_ps: ps(cost_ns) },
            // With tokens in the bucket a frame passes at once; without, no later than a device of the same rate.
            Device::Bucket(_) => Self { work_ps: signed(busy_ps), gap_ps: 0, least_ps: 0 },
        }
    }
}

fn add_flow(
    network: &Network,
    options: &Options,
    wiring: &Wiring,
    number: usize,
    stream: &Stream,
    ports: &mut [Port],
) -> FlowModel {
    let hops = &wiring.hops[stream.first_hop as usize..][..usize::from(stream.hops)];
    let flat_out = matches!(stream.release, Release::FlatOut);
    let mut models = Vec::new();
    let mut ends_early = match hops.last() {
        Some(last) if last.last => None,
        _ => Some(NoBound::Astray),
    };
    for (place, hop) in hops.iter().enumerate() {
        let at = hop.transmitter as usize;
        let transmitter = &wiring.transmitters[at];
        if is_dropped(transmitter, hop) {
            ends_early = Some(NoBound::Dropped { port: transmitter.name.clone() });
            break;
        }
        let Taken { work_ps, gap_ps, least_ps } = Taken::by(transmitter.device, hop);
        // At a talker, flows that send as fast as they can follow the others.
        let class = if place == 0 { usize::from(!flat_out) } else { usize::from(hop.class) };
        ports[at].crossings.push(Crossing {
            flow: number,
            hop: place,
            class,
            work_ps,
            gap_ps,
            least_ps,
            fills_gaps: place == 0 && flat_out,
            flat_out,
            kernel: KernelFrame { queue: hop.queue, charged_bytes: i64::from(hop.charged_bytes) },
        });
        let variation_ps = if hop.last {
            0
        } else {
            ps(options.forwarding_variation_ns.min(forwarding_ns(network, hops, place)))
        };
        models.push(HopModel {
            port: transmitter.name.clone(),
            number: at,
            least_ps,
            cable_least_ps: ps(transmitter.delay_ns) - variation_ps,
            cable_variation_ps: variation_ps,
        });
    }
    FlowModel { released: released(wiring, stream, hops), hops: models, ends_early }
}

/// The forwarding time of the switch of the next hop.
fn forwarding_ns(network: &Network, hops: &[Hop], place: usize) -> u64 {
    let Some(next) = hops.get(place + 1) else { return 0 };
    let mut left = next.transmitter as usize;
    for switch in &network.switches {
        if left < switch.ports.len() {
            return switch.forwarding_ns;
        }
        left -= switch.ports.len();
    }
    0
}

fn is_dropped(transmitter: &Transmitter, hop: &Hop) -> bool {
    match &transmitter.discipline {
        Discipline::Linux(schedule) => hop.kernel_bytes > schedule.longest_bytes(hop.class),
        Discipline::Standard(_) => hop.kernel_bytes > hop.longest_bytes,
        Discipline::Priority => false,
    }
}

/// The frames that a talker sends.
fn released(wiring: &Wiring, stream: &Stream, hops: &[Hop]) -> Inflow {
    match &stream.release {
        Release::Periodic { period_ns, offsets_ns, frames, jitter_ns } => {
            let (first_ns, last_ns) =
                (offsets_ns.first().copied().unwrap_or(0), offsets_ns.last().copied().unwrap_or(0));
            let arrival = Arrival {
                burst: i64::from(*frames) * offsets_ns.len() as i64,
                period_ps: ps(*period_ns).max(1),
                jitter_ps: ps(*jitter_ns) + ps(last_ns - first_ns),
            };
            Inflow { arrival, early_ps: Some(ps(first_ns)) }
        }
        Release::FlatOut | Release::Recorded(_) => {
            // The flows of a talker that send as fast as they can take turns, so that between two frames of one each of the
            // others sends one.
            let Some(first) = hops.first() else {
                return Inflow { arrival: Arrival { burst: 1, period_ps: 1, jitter_ps: 0 }, early_ps: None };
            };
            let device = wiring.transmitters[first.transmitter as usize].device;
            let others = wiring.streams.iter().filter(|other| {
                matches!(other.release, Release::FlatOut)
                    && other.hops > 0
                    && wiring.hops[other.first_hop as usize].transmitter == first.transmitter
            });
            let turn_ps: i64 = others
                .map(|other| Taken::by(device, &wiring.hops[other.first_hop as usize]).work_ps)
                .fold(0, i64::saturating_add);
            let burst_ps = match device {
                Device::Bucket(burst_ps) => signed(burst_ps),
                Device::Mac | Device::Ring(_) | Device::Instant(_) => 0,
            };
            // Times are whole ns.
            let arrival =
                Arrival { burst: 1, period_ps: turn_ps.max(1), jitter_ps: burst_ps.saturating_add(2000) };
            Inflow { arrival, early_ps: None }
        }
    }
}

/// What decides which frame a port sends.
fn selection(
    network: &Network,
    options: &Options,
    id: PortId,
    transmitter: &Transmitter,
    zero_ns: i64,
) -> Selection {
    let switch = &network.switches[id.switch];
    let port = &switch.ports[id.port];
    let classes = switch.classes.len().max(1);
    let no_model = |what| Selection::Unknown(NoBound::NoModel { port: transmitter.name.clone(), what });
    let Some(schedule) = &port.schedule else { return Selection::Standard(None) };
    match &transmitter.discipline {
        Discipline::Priority => Selection::Standard(None),
        Discipline::Standard(_)
            if options.simulated.mode == Mode::Linux && transmitter.device != Device::Mac =>
        {
            no_model("gates in hardware behind a device of Linux are not modelled; use --mode standard")
        }
        Discipline::Standard(_) => Selection::Standard(gates(schedule, AfterLast::Hold, classes, zero_ns)),
        Discipline::Linux(_) => {
            let (sum_ns, cycle_ns) = (schedule.sum_ns(), schedule.cycle_ns());
            if cycle_ns != 0 && cycle_ns != sum_ns {
                return no_model(
                    "Linux repeats the list with a phase that is not known, since it is not as long as its cycle",
                );
            }
            let Some(gates) = gates(schedule, AfterLast::Restart, classes, zero_ns) else {
                return no_model("the gate control list has no length");
            };
            let ring_frames = match transmitter.device {
                Device::Ring(u32::MAX) | Device::Instant(0) => None,
                Device::Ring(frames) => Some(i64::from(frames)),
                Device::Instant(_) | Device::Mac | Device::Bucket(_) => {
                    return no_model("gates with a cost of each frame (--frame-cost) are not modelled");
                }
            };
            let mut start_ps = 0;
            let mut entries = Vec::new();
            for entry in schedule.gate_entries() {
                let duration_ps = i64::from(entry.interval_ns) * 1000;
                entries.push((entry.gates, start_ps, duration_ps));
                start_ps += duration_ps;
            }
            let speed = options.simulated.ports.kernel_bps(network, id).unwrap_or(0);
            Selection::Kernel(KernelPort {
                gates,
                entries,
                picos_per_byte: signed(transmission_time::picos_per_byte(speed)),
                latency_ps: ps(options.simulated.gate_latency_ns),
                ring_frames,
            })
        }
    }
}

/// The openings of each class; `None` for a list without length.
fn gates(schedule: &Schedule, after_last: AfterLast, classes: usize, zero_ns: i64) -> Option<Gates> {
    let entries = schedule.gate_entries();
    let written_ns = schedule.cycle_time_ns.as_ref().map_or(0, |cycle| cycle.value);
    let of_class = |class: usize| Openings::of(&entries, written_ns, after_last, class as u8);
    let all: Vec<Openings> = (0..classes).map(of_class).collect();
    let cycle_ns = all.first().map(|openings| openings.cycle_ns).filter(|cycle_ns| *cycle_ns > 0)?;
    let spans = |openings: &Openings| {
        openings.openings.iter().map(|opening| (ps(opening.open_ns), ps(opening.close_ns))).collect()
    };
    let since_zero = i128::from(schedule.base_time_ns.value) - i128::from(zero_ns);
    let phase_ns = since_zero.rem_euclid(i128::from(cycle_ns)) as u64;
    Some(Gates { zero_ps: ps(phase_ns), cycle_ps: ps(cycle_ns), openings: all.iter().map(spans).collect() })
}
