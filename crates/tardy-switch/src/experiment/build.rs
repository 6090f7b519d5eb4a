//! Builds the network of a test from a namespace for each switch and host, with cables between them, or from interfaces
//! of this machine.

use std::time::Duration;
use tardy_sys::files::PrivateDirectory;

use tardy_record::switch::PortSchedule;
use tardy_record::units::format_duration_ns;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::links::{self, LinkInfo, QueueRange};
use tardy_sys::network::Namespace;
use tardy_sys::qdiscs::{Etf, EtfMode};
use tardy_sys::{qdiscs, taprio};
use tardy_tsn::network::{self, Bridge, End, Network, Pace, Port, Switch, VirtualPorts};
use tardy_tsn::settings;
use tardy_tsn::transmission_time::OVERHEAD_BYTES;

use super::cable::{Cable, TapEnd};
use super::flow_paths;
use super::machine::{self, Cabled};
use super::own_open_vswitch::OwnOpenVSwitch;
use super::port_schedule::{InForce, schedule_of};
use crate::missing::explained;
use crate::saved_states::SavedStates;
use crate::{Applied, OpenVSwitch, Request, apply};

/// The interface of every host.
pub(super) const HOST_INTERFACE: &str = "eth0";
/// The index of the first interface of a cable. The kernel numbers interfaces from 1, bridges included.
const FIRST_INDEX: u32 = 1000;
/// The limit of a host's queue towards the switch, in bytes: more than all sockets of a host can have queued.
const INGRESS_QUEUE_BYTES: u32 = 4 << 20;

/// The place of a host.
#[derive(Debug)]
enum HostPlace {
    /// A separate namespace with one interface, the hardware address of that interface, and its ETF, if it has one.
    Namespace(Namespace, [u8; 6], Option<Etf>),
    /// An interface of this machine; `None` for a host without flows.
    Machine(Option<Cabled>),
}

/// A network that is up. Dropping it removes it, since the kernel removes a namespace with all its interfaces.
#[derive(Debug)]
pub(super) struct Scene {
    /// Dropped before the namespaces in which they run.
    _open_vswitches: Vec<OwnOpenVSwitch>,
    switches: Vec<Namespace>,
    hosts: Vec<HostPlace>,
    /// The cables that this process simulates.
    _cables: Vec<Cable>,
    schedules: Vec<PortSchedule>,
    /// When each schedule is in force.
    in_force: Vec<InForce>,
    remarks: Vec<String>,
    state_directory: TemporarySavedStates,
}

impl Scene {
    /// Builds `network`, with or without its shapers.
    ///
    /// # Errors
    /// A message for the user: what is missing, or the kernel's error.
    pub(super) fn build(network: &Network, file: &str, shaped: bool) -> Result<Self, String> {
        let switches = namespaces(network.switches.len())?;
        let hosts = namespaces(network.hosts.len())?;
        let mut cables = Vec::new();
        for (number, link) in network.links.iter().enumerate() {
            // Unique on the machine, so that the kernel's trace distinguishes ports of several namespaces.
            let first = FIRST_INDEX + 2 * number as u32;
            let indices = [first, first + 1];
            cables.extend(lay(network, ((link.a, link.b), indices), &switches, &hosts)?);
        }
        for (index, host) in hosts.iter().enumerate() {
            inside(host, || configure_host(network, index))??;
        }
        let saved_states = TemporarySavedStates::new()?;
        let hosts = hosts.into_iter().enumerate().map(|(index, namespace)| {
            HostPlace::Namespace(namespace, network.address_of(index), etf_of(network, index))
        });
        let mut scene = Self {
            _open_vswitches: Vec::new(),
            switches,
            hosts: hosts.collect(),
            _cables: cables,
            schedules: Vec::new(),
            in_force: Vec::new(),
            remarks: Vec::new(),
            state_directory: saved_states,
        };
        scene.set_switches_up(network, file, shaped)?;
        Ok(scene)
    }

    /// Finds the hosts of `network` among this machine's interfaces; its switches are up already.
    ///
    /// # Errors
    /// A message for the user: what is missing.
    pub(super) fn of_machine(network: &Network, shaped: bool) -> Result<Self, String> {
        let schedules = if shaped { machine::schedules(network) } else { Vec::new() };
        let (schedules, in_force) = schedules.into_iter().unzip();
        Ok(Self {
            _open_vswitches: Vec::new(),
            switches: Vec::new(),
            hosts: machine::hosts(network)?.into_iter().map(HostPlace::Machine).collect(),
            _cables: Vec::new(),
            schedules,
            in_force,
            remarks: Vec::new(),
            state_directory: TemporarySavedStates::new()?,
        })
    }

    fn set_switches_up(&mut self, network: &Network, file: &str, shaped: bool) -> Result<(), String> {
        for (switch, namespace) in network.switches.iter().zip(&self.switches) {
            let open_vswitch = match switch.bridge {
                Bridge::Kernel => OpenVSwitch::System,
                Bridge::OpenVSwitch => {
                    let own = inside(namespace, OwnOpenVSwitch::start)??;
                    let handle = own.handle();
                    self._open_vswitches.push(own);
                    handle
                }
            };
            let request = request(switch, file, shaped, open_vswitch);
            let saved_states = &self.state_directory.saved_states;
            let (applied, schedules) = inside(namespace, || -> Result<_, String> {
                let (applied, changes) = apply(None, saved_states, &request)?;
                // The switch is removed with its namespace.
                changes.keep();
                wait_for_ports(switch, &request.open_vswitch)?;
                let ports = if shaped { &switch.ports[..] } else { &[] };
                let schedule = |port: &Port| {
                    let installed = applied.installed.iter().find(|one| one.port == port.interface.value);
                    schedule_of(switch, port, installed.map(|installed| installed.between_ns))
                };
                let schedules: Vec<_> = ports.iter().filter_map(schedule).collect();
                Ok((applied, schedules))
            })??;
            let Applied { remarks, .. } = applied;
            self.remarks.extend(remarks);
            for (schedule, in_force) in schedules {
                self.schedules.push(schedule);
                self.in_force.push(in_force);
            }
        }
        Ok(())
    }

    /// Replaces the schedules by those of `network`, which has the same switches, while they run. Returns what was done, for the user.
    ///
    /// # Errors
    /// A message for the user.
    pub(super) fn replace(&self, network: &Network, file: &str) -> Result<Vec<String>, String> {
        let mut remarks = Vec::new();
        for (switch, namespace) in network.switches.iter().zip(&self.switches) {
            let request = request(switch, file, true, OpenVSwitch::System);
            let applied = inside(namespace, || -> Result<Applied, String> {
                let (applied, changes) = apply(None, &self.state_directory.saved_states, &request)?;
                changes.keep();
                Ok(applied)
            })??;
            let name = &switch.name.value;
            remarks.extend(applied.changed.iter().map(|change| format!("{name}: {change}")));
            for leak in applied.leaks.iter().filter(|leak| leak.bound_ns > 0) {
                let bound = format_duration_ns(leak.bound_ns);
                remarks.push(format!(
                    "{name}: {}: gates that should be closed were open for at most {bound}",
                    leak.port
                ));
            }
            remarks.extend(applied.remarks);
        }
        Ok(remarks)
    }

    /// The schedules of the ports.
    pub(super) fn schedules(&self) -> &[PortSchedule] {
        &self.schedules
    }

    /// How long until every schedule is in force, in ns.
    pub(super) fn start_delay_ns(&self) -> u64 {
        self.in_force.iter().map(|in_force| in_force.ahead_ns()).max().unwrap_or(0)
    }

    /// Remarks on the network for the user.
    pub(super) fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The queues of the ports with shapers: for each port its name, frames that wait and frames that were dropped.
    pub(super) fn queues(&self) -> Vec<(String, u32, u32)> {
        let of = |namespace: &Namespace| {
            let seen = inside(namespace, || {
                let seen = self.schedules.iter().filter_map(|schedule| {
                    let shown = taprio::shown(&schedule.port).ok()??;
                    Some((schedule.port.clone(), shown.waiting_frames, shown.dropped))
                });
                seen.collect::<Vec<_>>()
            });
            seen.unwrap_or_default()
        };
        if self.switches.is_empty() {
            return machine::queues(&self.schedules);
        }
        self.switches.iter().flat_map(of).collect()
    }

    /// The interface of a host.
    pub(super) fn interface(&self, host: usize) -> &str {
        match &self.hosts[host] {
            HostPlace::Machine(Some(cabled)) => &cabled.interface,
            HostPlace::Machine(None) | HostPlace::Namespace(..) => HOST_INTERFACE,
        }
    }

    /// The hardware address of a host.
    pub(super) fn address(&self, host: usize) -> [u8; 6] {
        match &self.hosts[host] {
            HostPlace::Namespace(_, address, _) => *address,
            HostPlace::Machine(cabled) => cabled.as_ref().map_or([0; 6], |cabled| cabled.address),
        }
    }

    /// The ETF queueing discipline of a host, which sends frames at their transmit times, if it has one.
    pub(super) fn etf(&self, host: usize) -> Option<Etf> {
        match &self.hosts[host] {
            HostPlace::Machine(Some(cabled)) => cabled.etf,
            HostPlace::Namespace(_, _, etf) => *etf,
            HostPlace::Machine(None) => None,
        }
    }

    /// Whether the hosts are real interfaces, which may have their own clocks.
    pub(super) fn is_of_machine(&self) -> bool {
        self.switches.is_empty()
    }

    /// Runs `work` inside a host and returns its result.
    ///
    /// # Errors
    /// A message for the user, if the host cannot be entered.
    pub(super) fn in_host<T: Send>(&self, host: usize, work: impl FnOnce() -> T + Send) -> Result<T, String> {
        match &self.hosts[host] {
            HostPlace::Namespace(namespace, ..) => inside(namespace, work),
            HostPlace::Machine(_) => Ok(work()),
        }
    }

    /// Runs `work` inside a switch and returns its result.
    ///
    /// # Errors
    /// A message for the user, if the switch cannot be entered.
    pub(super) fn in_switch<T: Send>(
        &self,
        switch: usize,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, String> {
        match self.switches.get(switch) {
            Some(namespace) => inside(namespace, work),
            // The switch is this machine, or another one, whose ports are not found here.
            None => Ok(work()),
        }
    }
}

/// The request to set up a switch of a test.
fn request(switch: &Switch, file: &str, shaped: bool, open_vswitch: OpenVSwitch) -> Request {
    Request {
        settings: settings::of(switch),
        file: file.to_owned(),
        replace: false,
        unchecked: false,
        even_own_connection: true,
        shaped,
        open_vswitch,
    }
}

/// The ETF of a host: it has one if the file asks for it and all flows of the host have transmit times.
fn etf_of(network: &Network, host: usize) -> Option<Etf> {
    let mut flows = network.flows.iter().filter(|flow| flow.talker.value == host).peekable();
    flows.peek()?;
    let delta_ns = i32::try_from(network.netns.etf_delta_ns?).ok()?;
    let has_times = flows.all(|flow| matches!(flow.pace, Pace::Periodic { .. }));
    has_times.then_some(Etf { delta_ns, clock_id: network::Clock::Tai.id() })
}

fn namespaces(count: usize) -> Result<Vec<Namespace>, String> {
    let made: Result<Vec<Namespace>, _> = (0..count).map(|_| Namespace::new()).collect();
    let made = made.map_err(|error| {
        format!("no network namespace: {error}; this requires root and a kernel with CONFIG_NET_NS")
    })?;
    for namespace in &made {
        inside(namespace, || {
            // IPv6 neighbour discovery would send frames during the test.
            let files = KernelFiles::real();
            let _ = files.write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
            let _ = files.write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        })?;
    }
    Ok(made)
}

fn inside<T: Send>(namespace: &Namespace, work: impl FnOnce() -> T + Send) -> Result<T, String> {
    namespace.run(work).map_err(|error| format!("a network namespace cannot be entered: {error}"))
}

/// Waits until every port forwards: the kernel notices a carrier with up to 1 s of delay (net/core/link_watch.c).
fn wait_for_ports(switch: &Switch, open_vswitch: &OpenVSwitch) -> Result<(), String> {
    const TIMEOUT: Duration = Duration::from_secs(10);
    const INTERVAL: Duration = Duration::from_millis(20);
    let deadline_ns = monotonic_ns() + TIMEOUT.as_nanos() as u64;
    loop {
        let links = links::all().map_err(|error| error.to_string())?;
        let is_kernels = switch.bridge == Bridge::Kernel;
        let is_ready =
            |link: &LinkInfo| if is_kernels { link.forwards } else { link.is_up && link.has_carrier };
        let forwards =
            |port: &&Port| links.iter().any(|link| link.name == port.interface.value && is_ready(link));
        let Some(port) = switch.ports.iter().find(|port| !forwards(port)) else { break };
        if monotonic_ns() > deadline_ns {
            let (port, switch) = (&port.interface.value, &switch.name.value);
            return Err(format!(
                "{port} of {switch} does not forward after {} s: it has no cable, or nothing is at the other end",
                TIMEOUT.as_secs()
            ));
        }
        std::thread::sleep(INTERVAL);
    }
    match switch.bridge {
        Bridge::Kernel => Ok(()),
        Bridge::OpenVSwitch => {
            switch.ports.iter().try_for_each(|port| open_vswitch.wait_for(&port.interface.value))
        }
    }
}

/// Connects two ends by a veth pair, or by two tap devices with this process between them if an end has a set speed.
fn lay(
    network: &Network,
    (ends, indices): ((End, End), [u32; 2]),
    switches: &[Namespace],
    hosts: &[Namespace],
) -> Result<Option<Cable>, String> {
    let namespace = |end: End| match end {
        End::Host(host) => &hosts[host],
        End::Port(id) => &switches[id.switch],
    };
    let port = |end: End| match end {
        End::Host(_) => None,
        End::Port(id) => Some(&network.switches[id.switch].ports[id.port]),
    };
    let name = |end: End| port(end).map_or(HOST_INTERFACE, |port| port.interface.value.as_str()).to_owned();
    let (a, b) = ends;
    let queues = [a, b].map(|end| queues_of(network, end)).into_iter().max().unwrap_or(1);
    let is_tap = |end: End| port(end).is_some_and(|port| wants_tap(network.netns.ports, port));
    if !is_tap(a) && !is_tap(b) {
        let (near, far) = (name(a), name(b));
        let peer = Some(namespace(b).file());
        let make = || links::make_veth_with_indices(&near, &far, peer, Some(queues), Some(indices));
        inside(namespace(a), make)?.map_err(|error| explained(&format!("veth {near}"), &error))?;
        return Ok(None);
    }
    let tap = |end: End, index: u32| -> Result<TapEnd, String> {
        let speed = port(end).and_then(|port| port.speed.value.known());
        let (name, queues) = (name(end), queues_of(network, end) as usize);
        let of_priority = queues_of_priority(network, end);
        inside(namespace(end), || TapEnd::make((name.as_str(), index), queues, speed, of_priority))?
    };
    Cable::lay(tap(a, indices[0])?, tap(b, indices[1])?).map(Some)
}

/// Whether a port is a tap device, whose speed can be set. By default, a port with a schedule and a known speed is one.
fn wants_tap(ports: VirtualPorts, port: &Port) -> bool {
    match ports {
        VirtualPorts::Veth => false,
        VirtualPorts::Tap => true,
        VirtualPorts::AsSpeed => port.schedule.is_some() && port.speed.value.known().is_some(),
    }
}

/// The number of transmit queues of an end: as in the file, or as many as the classes of its switch use.
fn queues_of(network: &Network, end: End) -> u32 {
    let End::Port(id) = end else { return 1 };
    let switch = &network.switches[id.switch];
    let port = &switch.ports[id.port];
    if let Some(queues) = &port.queues {
        return u32::from(queues.value.max(1));
    }
    let last = |class: usize| {
        let queues = switch.queues_of(class);
        u32::from(queues.offset) + u32::from(queues.count)
    };
    (0..switch.classes.len()).map(last).max().unwrap_or(1).max(1)
}

/// The queues of each priority's class, for a port.
fn queues_of_priority(network: &Network, end: End) -> Option<[QueueRange; 16]> {
    let End::Port(id) = end else { return None };
    let switch = &network.switches[id.switch];
    let queues = |priority: usize| {
        let range = switch.queues_of(usize::from(switch.class_of_priority(priority as u8)));
        QueueRange { count: range.count, first: range.offset }
    };
    Some(std::array::from_fn(queues))
}

/// Sets the address of a host's interface and its rate towards the switch, and brings it up.
fn configure_host(network: &Network, host: usize) -> Result<(), String> {
    let name = HOST_INTERFACE;
    let explained = |error| explained(&format!("host {}", network.hosts[host].name.value), &error);
    if network.port_of_host(host).is_none() {
        return Ok(());
    }
    links::set_address(name, network.address_of(host)).map_err(explained)?;
    let talks = network.flows.iter().any(|flow| flow.talker.value == host);
    if let Some(etf) = etf_of(network, host) {
        qdiscs::set_root(name, "etf", 1, &qdiscs::etf_options(etf, EtfMode::default())).map_err(|error| {
            format!(
                "host {}: no ETF, which etf_delta asks for: {error}; this requires CONFIG_NET_SCH_ETF (module sch_etf)",
                network.hosts[host].name.value
            )
        })?;
    } else if let Some(rate_bps) = flow_paths::ingress_bps(network, host).filter(|_| talks) {
        let of_host = network.flows.iter().filter(|flow| flow.talker.value == host);
        let longest = of_host.map(|flow| flow.size.value).max().unwrap_or(0).max(1514);
        let burst = longest + OVERHEAD_BYTES;
        let bucket = qdiscs::TokenBucket {
            rate_bps,
            burst_bytes: burst,
            limit_bytes: INGRESS_QUEUE_BYTES,
            overhead_bytes: OVERHEAD_BYTES as u16,
        };
        qdiscs::set_token_bucket(name, bucket).map_err(|error| {
            format!(
                "host {}: cannot limit its rate into the switch: {error}; this requires CONFIG_NET_SCH_TBF (module sch_tbf)",
                network.hosts[host].name.value
            )
        })?;
    }
    links::set_up(name).map_err(explained)
}

/// A temporary directory for the saved states of this test's switches.
#[derive(Debug)]
struct TemporarySavedStates {
    _directory: PrivateDirectory,
    saved_states: SavedStates,
}

impl TemporarySavedStates {
    fn new() -> Result<Self, String> {
        let directory = PrivateDirectory::create("tardy-switches-")
            .map_err(|error| format!("cannot create a directory for the state of the switches: {error}"))?;
        Ok(Self { saved_states: SavedStates::at(directory.path()), _directory: directory })
    }
}
