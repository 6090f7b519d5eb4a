//! Converts a network into a wiring.

use tardy_record::gates::GateOperation;
use tardy_record::units::format_duration_ns;

use super::linux_gates::{KernelOrder, KernelSchedule};
use super::path::{Passage, Path};
use super::standard_gates::Windows;
use super::wiring::{
    ClassQueues, ClassRules, Device, Discipline, Hop, Release, Stream, Transmitter, Wiring, WiringError,
};
use super::{Mode, Options, Ports};
use crate::check::kernel;
use crate::check::{Device as KnownDevice, DeviceSpeed};
use crate::network::{End, Flow, Network, Pace, Port, PortId, Schedule, Switch};
use crate::port_model::{self, cable_rate, is_tap};
use crate::random::Random;
use crate::settings;
use crate::span::Span;
use crate::transmission_time::{OVERHEAD_BYTES, OnCable};

/// The capacity of a tap device's reader, in frames: it reads all frames and holds them until they are sent.
const TAP_FRAMES: u32 = u32::MAX;
/// The capacity of each queue of a tap device, in frames: its `txqueuelen` (`TUN_READQ_SIZE` in drivers/net/tun.c).
const TAP_QUEUE_FRAMES: u32 = 500;
/// The least size of a talker's bucket, in bytes: a full frame.
const BUCKET_BYTES_MIN: u32 = 1514;
/// The most queues of one class that are simulated separately.
const QUEUES_MAX: u16 = 64;
/// The longest gate control list, in entries: a run file holds these and a few that may be needed to fill the cycle.
const ENTRIES_MAX: usize = 8000;
/// The longest cycle and period, in ns: a day.
const TIME_MAX_NS: u64 = 86_400_000_000_000;

/// A network that is ready to be simulated. Its streams are in the order of the network's flows.
#[derive(Clone, Debug)]
pub struct Wired {
    /// The input of the engine.
    pub wiring: Wiring,
    /// Assumptions, as messages for the user.
    pub remarks: Vec<String>,
}

/// Prepares `network` for simulation, with its schedules or, if `shaped` is false, without.
///
/// # Errors
///
/// What the kernel refuses (in [`Mode::Linux`]), a schedule without length, a flow without a route.
pub fn wire(network: &Network, options: &Options, shaped: bool) -> Result<Wired, WiringError> {
    wire_from(network, options, shaped, zero_ns(network, options))
}

/// Like [`wire`], for a simulation that starts at `zero_ns` of the schedules' clock.
pub(super) fn wire_from(
    network: &Network,
    options: &Options,
    shaped: bool,
    zero_ns: i64,
) -> Result<Wired, WiringError> {
    let mut remarks = Vec::new();
    let mut wiring = Wiring { zero_ns, ..Wiring::default() };
    for (number, switch) in network.switches.iter().enumerate() {
        for port in 0..switch.ports.len() {
            let id = PortId { switch: number, port };
            let builder = PortBuilder { network, options, id, switch, port: &switch.ports[port], zero_ns };
            wiring.transmitters.push(builder.transmitter(shaped, &mut remarks)?);
        }
    }
    for host in 0..network.hosts.len() {
        wiring.transmitters.push(host_transmitter(network, options, host));
    }
    for (number, flow) in network.flows.iter().enumerate() {
        add_flow(network, options, number, flow, &mut wiring, &mut remarks)?;
    }
    Ok(Wired { wiring, remarks })
}

/// The index of a port's transmitter.
pub fn transmitter_of(network: &Network, id: PortId) -> u32 {
    let before: usize = network.switches[..id.switch].iter().map(|switch| switch.ports.len()).sum();
    (before + id.port) as u32
}

fn transmitter_of_host(network: &Network, host: usize) -> u32 {
    let ports: usize = network.switches.iter().map(|switch| switch.ports.len()).sum();
    (ports + host) as u32
}

/// When the simulation starts: at the latest base time, so that all schedules run, or the requested lead earlier.
pub(super) fn zero_ns(network: &Network, options: &Options) -> i64 {
    let ports = network.switches.iter().flat_map(|switch| &switch.ports);
    let bases = ports.filter_map(|port| Some(port.schedule.as_ref()?.base_time_ns.value));
    bases.max().unwrap_or(0).saturating_sub_unsigned(options.lead_ns)
}

fn cable_delay_ns(network: &Network, end: End) -> u64 {
    let link = network.links.iter().find(|link| link.a == end || link.b == end);
    let Some(link) = link else { return 0 };
    let far = if link.a == end { link.b } else { link.a };
    let forwarding_ns = match far {
        End::Port(port) => network.switches[port.switch].forwarding_ns,
        End::Host(_) => 0,
    };
    link.propagation_ns.saturating_add(forwarding_ns)
}

/// Builds the transmitter of a port.
struct PortBuilder<'a> {
    network: &'a Network,
    options: &'a Options,
    id: PortId,
    switch: &'a Switch,
    port: &'a Port,
    zero_ns: i64,
}

impl PortBuilder<'_> {
    fn transmitter(&self, shaped: bool, remarks: &mut Vec<String>) -> Result<Transmitter, WiringError> {
        let schedule = self.port.schedule.as_ref().filter(|_| shaped);
        if let Some(schedule) = schedule.filter(|schedule| schedule.entries.len() > ENTRIES_MAX) {
            let what = format!("a gate control list of more than {ENTRIES_MAX} entries is not simulated");
            return Err(self.wrong(schedule.gates_span, &what));
        }
        let discipline = match schedule {
            None => Discipline::Priority,
            Some(schedule) => match (self.options.mode, schedule.flags.value) {
                (Mode::Linux, 0) => self.linux(schedule)?,
                (Mode::Linux, flags) if flags & 2 == 0 => {
                    let what = "flags = 1 uses ETF, which is not simulated; use flags 0, or --mode standard";
                    return Err(self.wrong(schedule.flags.span, what));
                }
                (Mode::Linux, _) => {
                    remarks.extend(port_model::exception(&self.name(), schedule));
                    self.standard(schedule)?
                }
                (Mode::Standard, _) => self.standard(schedule)?,
            },
        };
        if self.port.speed.value.known().is_none() && schedule.is_some() {
            remarks.push(format!("{}: {}", self.name(), self.of_speed()));
        }
        let kernel = matches!(discipline, Discipline::Linux(_));
        Ok(Transmitter {
            name: self.name(),
            delay_ns: cable_delay_ns(self.network, End::Port(self.id)),
            classes: self.classes(kernel),
            device: self.device(),
            class_rules: schedule
                .map_or_else(|| Ok(ClassRules::default()), |schedule| self.class_rules(schedule))?,
            discipline,
            queue_frames: match self.is_simulated_tap() {
                true => self.options.queue_frames.min(TAP_QUEUE_FRAMES),
                false => self.options.queue_frames,
            },
        })
    }

    fn name(&self) -> String {
        format!("{}/{}", self.switch.name.value, self.port.interface.value)
    }

    fn wrong(&self, span: Span, what: &str) -> WiringError {
        WiringError { span, what: format!("{}: {what}", self.name()) }
    }

    fn of_speed(&self) -> String {
        let rate = cable_rate(self.network, End::Port(self.id)) / 1_000_000;
        match self.kernel_mbps() {
            None => format!(
                "its speed is unknown: the kernel assumes 10 Mbit/s, and its cable is simulated with {rate} Mbit/s"
            ),
            Some(known) => format!("the file does not state its speed: simulated with {known} Mbit/s"),
        }
    }

    fn is_tap(&self) -> bool {
        is_tap(self.network, self.id)
    }

    /// Whether its device is a tap device of the simulated test.
    fn is_simulated_tap(&self) -> bool {
        self.options.mode == Mode::Linux && self.options.ports == Ports::Virtual && self.is_tap()
    }

    fn device(&self) -> Device {
        match (self.options.mode, self.options.ports) {
            (Mode::Standard, _) => Device::Mac,
            (Mode::Linux, Ports::Hardware) => Device::Ring(self.options.ring_frames),
            (Mode::Linux, Ports::Virtual) if self.is_tap() && self.port.speed.value.known().is_some() => {
                Device::Ring(TAP_FRAMES)
            }
            (Mode::Linux, Ports::Virtual) => Device::Instant(self.options.frame_cost_ns),
        }
    }

    /// The speed that ethtool reports to the kernel.
    fn kernel_mbps(&self) -> Option<u64> {
        self.options.ports.kernel_bps(self.network, self.id).map(|rate| rate / 1_000_000)
    }

    fn classes(&self, kernel: bool) -> Vec<ClassQueues> {
        let count = self.switch.classes.len().max(1);
        let mut first = 0;
        let one = |class| {
            let queues = if kernel { self.switch.queues_of(class).count.clamp(1, QUEUES_MAX) } else { 1 };
            let range = ClassQueues { first, count: queues };
            first += queues;
            range
        };
        (0..count).map(one).collect()
    }

    /// The credit-based shapers and the preemptible classes of a port with this schedule.
    fn class_rules(&self, schedule: &Schedule) -> Result<ClassRules, WiringError> {
        let rate = cable_rate(self.network, End::Port(self.id));
        let mut rules = ClassRules { bits_per_second: rate, ..ClassRules::default() };
        // Without any shaper the list is empty, so that a transmitter does not look through it for each frame.
        if self.switch.classes.iter().any(|class| class.idle_slope.is_some()) {
            let slopes = self.switch.classes.iter().map(|class| class.idle_slope.as_deref().copied());
            rules.idle_slopes = slopes.collect();
        }
        for (number, class) in self.switch.classes.iter().enumerate() {
            let preemptible = class.preemptible.as_ref().filter(|preemptible| preemptible.value);
            rules.preemptible |= u32::from(preemptible.is_some()) << number;
            let slope =
                class.idle_slope.as_ref().map(|slope| (slope.span, "a credit-based shaper", slope.value));
            let preempts = preemptible.map(|preemptible| (preemptible.span, "preemption", 0));
            let Some((span, what, slope)) = slope.or(preempts) else { continue };
            if slope > 0 && preemptible.is_some() {
                let what =
                    "a credit-based shaper of a preemptible class is not simulated; remove one of them";
                return Err(self.wrong(span, what));
            }
            if self.options.mode != Mode::Standard {
                let what = format!("{what} is not simulated as Linux does it; use --mode standard");
                return Err(self.wrong(span, &what));
            }
            if !schedule.openings(number).is_always_open() {
                let what = format!(
                    "{what} is simulated only if the gate of the class is always open; remove {}, or open class {} in every entry",
                    if slope > 0 { "idle_slope" } else { "preemptible" },
                    class.name.value
                );
                return Err(self.wrong(span, &what));
            }
            if slope >= rate {
                let what = "idle_slope is not below the speed of the port; write a lower one";
                return Err(self.wrong(span, what));
            }
        }
        let mut operations = schedule.entries.iter().map(|entry| entry.entry.operation);
        if rules.preemptible != 0 && operations.any(|operation| operation != GateOperation::Set) {
            let what = "hold and release are not simulated; remove operation, or preemptible";
            return Err(self.wrong(schedule.gates_span, what));
        }
        Ok(rules)
    }

    fn standard(&self, schedule: &Schedule) -> Result<Discipline, WiringError> {
        if schedule.cycle_ns() > TIME_MAX_NS {
            return Err(self.wrong(schedule.gates_span, "a cycle of more than a day is not simulated"));
        }
        let base_ns = i128::from(schedule.base_time_ns.value) - i128::from(self.zero_ns);
        let cycle_ns = schedule.cycle_time_ns.as_ref().map(|cycle| cycle.value);
        let windows =
            Windows::of(&schedule.gate_entries(), cycle_ns, base_ns, self.switch.classes.len().max(1) as u8);
        windows
            .map(Discipline::Standard)
            .ok_or_else(|| self.wrong(schedule.gates_span, "the gate control list has no length"))
    }

    fn linux(&self, schedule: &Schedule) -> Result<Discipline, WiringError> {
        let taprio = settings::taprio_of(self.switch, self.port);
        let mbps = self.kernel_mbps();
        let speed =
            mbps.map_or(DeviceSpeed::Unknown, |mbps| DeviceSpeed::BitsPerSecond(mbps.max(1) * 1_000_000));
        let known = KnownDevice { speed: Some(speed), ..KnownDevice::default() };
        if let Some(refusal) = taprio.and_then(|taprio| kernel::refusals(&taprio, &known).into_iter().next())
        {
            let what = format!("the kernel refuses this schedule ({}); see tardy tsn check", refusal.message);
            return Err(self.wrong(schedule.gates_span, &what));
        }
        let mut max_sdu = [0; crate::network::CLASSES_MAX];
        for (place, class) in max_sdu.iter_mut().zip(&self.switch.classes) {
            *place = class.max_sdu.as_deref().copied().unwrap_or(0);
        }
        let base_ns = i128::from(schedule.base_time_ns.value) - i128::from(self.zero_ns);
        let order = KernelOrder {
            entries: schedule.gate_entries(),
            cycle_ns: schedule.cycle_time_ns.as_ref().map(|cycle| cycle.value),
            extension_ns: schedule.cycle_time_extension_ns.as_ref().map_or(0, |time| time.value),
            base_ns: i64::try_from(base_ns).map_err(|_| {
                self.wrong(schedule.base_time_ns.span, "its base time is too far from the others")
            })?,
            classes: self.switch.classes.len() as u8,
            speed_mbps: mbps,
            overhead: schedule.overhead.value,
            max_sdu,
        };
        let since_zero = |at_ns: i64| at_ns.saturating_sub(self.zero_ns);
        let latency_ns = self.options.gate_latency_ns;
        let mut running = match self.options.installed_ns {
            Some(at_ns) => KernelSchedule::installed_at(&order, since_zero(at_ns), latency_ns),
            None => KernelSchedule::installed(&order, latency_ns),
        }
        .ok_or_else(|| self.wrong(schedule.gates_span, "the gate control list has no length"))?;
        running.fires_as_seen(self.options.gate_timer_ns.iter().copied().map(since_zero).collect());
        if let Some(at_ns) = self.options.replaced_after_ns {
            running.replaced_at(at_ns);
        }
        Ok(Discipline::Linux(Box::new(running)))
    }
}

/// The speed of the link at a port, in bit/s; `None` if it is unknown. A veth device has 10 Gbit/s whatever the file
/// states.
pub(super) fn link_bps(network: &Network, options: &Options, id: PortId) -> Option<u64> {
    let switch = &network.switches[id.switch];
    let builder = PortBuilder { network, options, id, switch, port: &switch.ports[id.port], zero_ns: 0 };
    match options.mode {
        Mode::Standard => builder.port.speed.value.known(),
        Mode::Linux if options.ports == Ports::Hardware => builder.port.speed.value.known(),
        Mode::Linux => builder.kernel_mbps().map(|mbps| mbps * 1_000_000),
    }
}

/// The rate to which `--netns` limits a host's frames into its switch, if it does.
fn ingress_bps(network: &Network, host: usize) -> Option<u64> {
    let port = || {
        let (id, _) = network.port_of_host(host)?;
        network.switches[id.switch].ports[id.port].speed.value.known()
    };
    network.netns.ingress_bits_per_second.or_else(port)
}

fn host_transmitter(network: &Network, options: &Options, host: usize) -> Transmitter {
    let device = match (options.ports, ingress_bps(network, host)) {
        (Ports::Hardware, _) => Device::Mac,
        (Ports::Virtual, None) => Device::Instant(options.frame_cost_ns),
        (Ports::Virtual, Some(rate)) => {
            let of_host = network.flows.iter().filter(|flow| flow.talker.value == host);
            let longest = of_host.map(|flow| flow.size.value).max().unwrap_or(0).max(BUCKET_BYTES_MIN);
            Device::Bucket(OnCable::of(longest, rate).busy_ps)
        }
    };
    // Without a cost and a rate, a talker that sends as fast as it can would send for ever at time 0.
    let device = if device == Device::Instant(0) { Device::Mac } else { device };
    Transmitter {
        name: network.hosts[host].name.value.clone(),
        delay_ns: cable_delay_ns(network, End::Host(host)),
        discipline: Discipline::Priority,
        device,
        classes: vec![ClassQueues { first: 0, count: 1 }],
        class_rules: ClassRules::default(),
        queue_frames: options.queue_frames,
    }
}

/// Adds a flow with its hops.
fn add_flow(
    network: &Network,
    options: &Options,
    number: usize,
    flow: &Flow,
    wiring: &mut Wiring,
    remarks: &mut Vec<String>,
) -> Result<(), WiringError> {
    let path = Path::of(network, flow)?;
    if let Some(astray) = &path.astray {
        remarks.push(format!("flow '{}' does not arrive: {astray}", flow.name.value));
    }
    let first_hop = wiring.hops.len() as u32;
    let host = flow.talker.value;
    let talker_rate = ingress_bps(network, host).filter(|_| options.ports == Ports::Virtual);
    let talker_rate = talker_rate.unwrap_or_else(|| cable_rate(network, End::Host(host)));
    let on_cable = OnCable::of(flow.size.value, talker_rate);
    wiring.hops.push(Hop {
        transmitter: transmitter_of_host(network, flow.talker.value),
        class: 0,
        queue: 0,
        last: path.passages.is_empty() && path.astray.is_none(),
        on_cable,
        kernel_bytes: flow.size.value,
        charged_bytes: flow.size.value,
        longest_bytes: u32::MAX,
    });
    let mut random = Random::of(options.seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for (index, passage) in path.passages.iter().enumerate() {
        let last = index + 1 == path.passages.len() && path.astray.is_none();
        let hop = hop_of(network, options, flow, passage, last, &wiring.transmitters, random.next())?;
        wiring.hops.push(hop);
    }
    let received_bytes = path.passages.last().map_or(flow.size.value, |passage| passage.bytes);
    wiring.streams.push(Stream {
        first_hop,
        hops: (wiring.hops.len() as u32 - first_hop) as u16,
        wire_bytes: received_bytes.saturating_add(OVERHEAD_BYTES),
        release: release(network, options, flow, wiring.zero_ns, on_cable.busy_ps)?,
    });
    Ok(())
}

fn hop_of(
    network: &Network,
    options: &Options,
    flow: &Flow,
    passage: &Passage,
    last: bool,
    transmitters: &[Transmitter],
    hash: u64,
) -> Result<Hop, WiringError> {
    let switch = &network.switches[passage.out.switch];
    let port = &switch.ports[passage.out.port];
    let transmitter = transmitter_of(network, passage.out);
    let known = &transmitters[transmitter as usize];
    let without_schedule = matches!(known.discipline, Discipline::Priority);
    // Without a schedule the kernel's default queue sends all frames in order of arrival.
    let class =
        if without_schedule && options.mode == Mode::Linux { 0 } else { switch.class_of(&passage.marks) };
    let builder = PortBuilder { network, options, id: passage.out, switch, port, zero_ns: 0 };
    // A card selects among the queues of a class by a hash that depends on the machine. The tap devices of `--netns`
    // select by the last byte of the source address.
    let choice = match builder.is_simulated_tap() {
        true => u64::from(network.address_of(flow.talker.value)[5]),
        false => hash,
    };
    let queues = known.classes.get(usize::from(class)).ok_or_else(|| WiringError {
        span: flow.span,
        what: format!(
            "flow '{}' has class {class}, which {} does not have",
            flow.name.value, switch.name.value
        ),
    })?;
    let max_sdu = switch.classes.get(usize::from(class)).and_then(|class| class.max_sdu.as_deref().copied());
    let overhead = port.schedule.as_ref().map_or(0, |schedule| schedule.overhead.value);
    Ok(Hop {
        transmitter,
        class,
        queue: queues.first + (choice % u64::from(queues.count)) as u16,
        last,
        on_cable: OnCable::of(passage.bytes, cable_rate(network, End::Port(passage.out))),
        kernel_bytes: passage.kernel_bytes,
        charged_bytes: passage.kernel_bytes.saturating_add(overhead),
        longest_bytes: max_sdu.filter(|sdu| *sdu > 0).map_or(u32::MAX, |sdu| sdu.saturating_add(14)),
    })
}

/// When a talker sends, in ns of the simulation. A frame occupies the talker's cable for `busy_ps`.
fn release(
    network: &Network,
    options: &Options,
    flow: &Flow,
    zero_ns: i64,
    busy_ps: u64,
) -> Result<Release, WiringError> {
    let Pace::Periodic { period_ns, offset_ns, frames } = flow.pace else { return Ok(Release::FlatOut) };
    if period_ns > TIME_MAX_NS {
        let what = format!("flow '{}': a period of more than a day is not simulated", flow.name.value);
        return Err(WiringError { span: flow.span, what });
    }
    // Otherwise the simulation would compute any number of frames that no cable carries.
    let burst_ps = u128::from(busy_ps) * u128::from(frames);
    if burst_ps > u128::from(period_ns) * 1000 {
        let burst_ns = u64::try_from(burst_ps.div_ceil(1000)).unwrap_or(u64::MAX);
        let what = format!(
            "flow '{}' sends more than its talker's cable carries: {} {} of a period of {}; write a longer period, or flat_out = true",
            flow.name.value,
            if frames == 1 { "a frame takes".to_owned() } else { format!("{frames} frames take") },
            format_duration_ns(burst_ns),
            format_duration_ns(period_ns)
        );
        return Err(WiringError { span: flow.span, what });
    }
    let base_ns = schedule_of(network, flow).map_or(zero_ns, |(_, schedule)| schedule.base_time_ns.value);
    let first_ns = i128::from(base_ns) - i128::from(zero_ns) + i128::from(offset_ns);
    let offset_ns = first_ns.rem_euclid(i128::from(period_ns.max(1))) as u64;
    Ok(Release::Periodic {
        period_ns,
        offsets_ns: vec![offset_ns],
        frames,
        jitter_ns: options.talker_jitter_ns,
    })
}

/// The schedule that a flow's times refer to, and its port: that of its last port, or otherwise any.
pub(super) fn schedule_of<'n>(network: &'n Network, flow: &Flow) -> Option<(PortId, &'n Schedule)> {
    let last = network.way_out(flow).and_then(|ports| ports.last().copied());
    let ports = network.switches.iter().enumerate();
    let all = ports.flat_map(|(number, switch)| {
        (0..switch.ports.len()).map(move |port| PortId { switch: number, port })
    });
    last.into_iter().chain(all).find_map(|id| {
        let schedule = network.switches[id.switch].ports[id.port].schedule.as_ref()?;
        Some((id, schedule))
    })
}
