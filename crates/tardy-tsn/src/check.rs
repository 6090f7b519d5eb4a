//! Problems of a switch that can be found without applying it: what the kernel refuses, and what it accepts but
//! executes wrongly.
//!
//! The findings depend only on the file and on the known properties of the machine. Each finding states what happens on the
//! wire, in numbers of this file, and what to write instead. The rules are those of Linux 6.12's software TAPRIO: the standard
//! refuses some settings that the kernel accepts, and accepts some that the kernel refuses.

mod cabling;
mod classes;
mod environment;
mod flows;
pub mod kernel;
mod limits;
mod refused;
mod schedule;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::network::{CLASSES_MAX, Clock, Flow, Network, Port, PortId, Schedule, Speed, Switch};
use crate::port_model::{self, Mode, Ports};
use crate::settings::{self, Queues, Taprio};
use crate::span::Span;
use crate::transmission_time::UNKNOWN_SPEED_BITS_PER_SECOND;

/// The rule about a schedule that starts later.
pub const BASE_TIME_AHEAD: &str = "base-time-ahead";

/// What is known of a machine. All fields are optional.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Network interfaces by name.
    pub devices: BTreeMap<String, Device>,
    /// Clocks, in nanoseconds since their zero, all read at the same time.
    pub now_ns: BTreeMap<Clock, i64>,
    /// Whether a PTP daemon runs.
    pub runs_ptp: Option<bool>,
    /// Whether the kernel was built with TAPRIO (CONFIG_NET_SCH_TAPRIO); `None` if its configuration is unknown.
    pub has_taprio: Option<bool>,
    /// The devices of ports whose interfaces are not in `devices`.
    pub ports: Ports,
}

/// What is known of a network interface. `None`: unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Transmit queues that it was created with (`num_tx_queues`).
    pub tx_queues: Option<u32>,
    /// Transmit queues that it uses (`real_num_tx_queues`).
    pub real_tx_queues: Option<u32>,
    /// Its speed, as reported by ethtool.
    pub speed: Option<DeviceSpeed>,
    /// The largest MTU that can be set, in bytes; `None` if there is no bound.
    pub mtu_max: Option<u32>,
    /// The current MTU, in bytes.
    pub mtu: Option<u32>,
    /// Whether it has a PTP clock.
    pub ptp_clock: Option<bool>,
    /// The schedule that runs on it.
    pub running: Option<Running>,
}

/// The parts of a running schedule that cannot be changed while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Class of each priority.
    pub prio_tc_map: [u8; CLASSES_MAX],
    /// Queues of each class.
    pub queues: Vec<Queues>,
    /// The clock.
    pub clockid: Option<i32>,
    /// The flags.
    pub flags: u32,
}

impl From<&Taprio> for Running {
    fn from(taprio: &Taprio) -> Self {
        let Taprio { prio_tc_map, clockid, flags, .. } = *taprio;
        Self { prio_tc_map, queues: taprio.queues.clone(), clockid, flags }
    }
}

/// A device's speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSpeed {
    /// Not reported: no cable, or a virtual device without a configured speed.
    Unknown,
    /// Bits per second.
    BitsPerSecond(u64),
}

impl Device {
    /// The speed that TAPRIO computes with (`taprio_set_picos_per_byte`); `None` if it is not known.
    pub fn speed_for_kernel(&self) -> Option<u64> {
        match self.speed? {
            DeviceSpeed::Unknown => Some(UNKNOWN_SPEED_BITS_PER_SECOND),
            DeviceSpeed::BitsPerSecond(speed) => Some(speed),
        }
    }
}

/// A problem, or a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the rule, which does not change between versions.
    pub rule: &'static str,
    /// Its severity.
    pub kind: Kind,
    /// The problem in a few words.
    pub what: String,
    /// What happens on the wire.
    pub effect: String,
    /// What to write instead.
    pub change: String,
    /// The switch.
    pub switch: String,
    /// The port's interface, if the finding is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The line in the file, from 1.
    pub line: usize,
    /// The place in the file.
    #[serde(skip)]
    pub span: Span,
}

/// The severity of a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// The kernel refuses.
    Refused {
        /// Name of the error number.
        errno: &'static str,
        /// The kernel's message.
        message: String,
    },
    /// The kernel accepts it, but it needs more than tardy sets up, so `apply` refuses it.
    Unsupported,
    /// The kernel accepts it, and frames leave at the wrong time or not at all.
    Accepted,
    /// Not a problem, but worth knowing.
    Note,
}

impl Kind {
    fn rank(&self) -> u8 {
        match self {
            Self::Refused { .. } => 0,
            Self::Unsupported => 1,
            Self::Accepted => 2,
            Self::Note => 3,
        }
    }

    /// Whether `apply` does not set up a switch with it.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Unsupported)
    }
}

/// All findings in `network`, whose text is `text`: refusals first, then in the order of the lines.
pub fn check(network: &Network, text: &str, machine: &Machine) -> Vec<Finding> {
    let mut found = Found { text, at: (String::new(), None), findings: Vec::new() };
    // Computed once: there may be thousands of flows.
    let ways: Ways = network.flows.iter().map(|flow| (flow, network.way_out(flow))).collect();
    cabling::rings(network, &mut found);
    for (number, switch) in network.switches.iter().enumerate() {
        cabling::of_switch(switch, &mut found);
        found.in_switch(switch, None);
        environment::of_switch(switch, &mut found);
        refused::of_switch(switch, &mut found);
        flows::of_switch(network, number, &ways, &mut found);
        for (index, port) in switch.ports.iter().enumerate() {
            let Some(schedule) = &port.schedule else { continue };
            found.in_switch(switch, Some(port));
            let known = machine.devices.get(&port.interface.value);
            let id = PortId { switch: number, port: index };
            let flows = flows::through(&ways, id);
            // The kernel of a real switch refuses by the stated speed, also if a test has other devices.
            let modelled = modelled_speed(network, machine.ports, id);
            let device_with = |speed| device(port, known, speed);
            let device = device_with(stated_speed(port).or(modelled));
            let mut place = Place { switch, port, schedule, flows, device, known };
            refused::of_port(&place, machine, &mut found);
            place.device = device_with(modelled);
            schedule::of_port(&place, &mut found);
            classes::of_port(&place, &mut found);
            environment::of_port(network, &place, machine, &mut found);
            flows::of_port(&place, &mut found);
            limits::of_port(network, id, &place, &ways, &mut found);
        }
    }
    let mut findings = found.findings;
    findings.sort_by_key(|finding| (finding.kind.rank(), finding.span));
    findings
}

/// The kernel's first refusal of the schedule of `port`; `None` if it accepts it.
pub fn first_refusal(switch: &Switch, port: &Port, known: Option<&Device>) -> Option<kernel::Refusal> {
    let taprio = settings::taprio_of(switch, port)?;
    kernel::refusals(&taprio, &device(port, known, stated_speed(port))).into_iter().next()
}

/// The models that the findings on `network` follow, for the user.
pub fn model(network: &Network, machine: &Machine) -> String {
    let mut texts = vec![port_model::describe(Mode::Linux, machine.ports, None)];
    for port in network.switches.iter().flat_map(|switch| &switch.ports) {
        let name = &port.interface.value;
        let Some(schedule) = &port.schedule else { continue };
        texts.extend(port_model::exception(name, schedule));
        if machine.devices.contains_key(name) {
            texts.push(format!("{name}: as this machine's interface"));
        }
    }
    texts.join("; ")
}

/// The speed that the file states for a port.
fn stated_speed(port: &Port) -> Option<DeviceSpeed> {
    match port.speed.value {
        Speed::AsKernelSays => None,
        Speed::Unknown => Some(DeviceSpeed::Unknown),
        Speed::BitsPerSecond(speed) => Some(DeviceSpeed::BitsPerSecond(speed)),
    }
}

/// The speed that the kernel would know of a port with these devices; `None` if the file does not determine it.
fn modelled_speed(network: &Network, ports: Ports, id: PortId) -> Option<DeviceSpeed> {
    match ports {
        Ports::Hardware => stated_speed(&network.switches[id.switch].ports[id.port]),
        Ports::Virtual => {
            Some(ports.kernel_bps(network, id).map_or(DeviceSpeed::Unknown, DeviceSpeed::BitsPerSecond))
        }
    }
}

/// The device as known from the machine, or otherwise from the file, with this speed.
fn device(port: &Port, known: Option<&Device>, speed: Option<DeviceSpeed>) -> Device {
    let mut device = known.cloned().unwrap_or_default();
    if known.is_none() {
        let queues = port.queues.as_ref().map(|queues| u32::from(queues.value));
        (device.tx_queues, device.real_tx_queues) = (queues, queues);
        device.speed = speed;
    }
    device
}

/// Each flow and the ports by which it leaves switches.
type Ways<'a> = Vec<(&'a Flow, Option<Vec<PortId>>)>;

/// A port with a schedule and its context.
struct Place<'a> {
    switch: &'a Switch,
    port: &'a Port,
    schedule: &'a Schedule,
    /// The flows that leave by it.
    flows: Vec<&'a Flow>,
    /// What is known of the device from the machine or the file.
    device: Device,
    /// What is known of the device from the machine.
    known: Option<&'a Device>,
}

impl Place<'_> {
    /// Whether the kernel runs the schedule, and not the hardware.
    fn is_software(&self) -> bool {
        !self.schedule.is_in_hardware()
    }

    /// The cycle as it runs.
    fn running_cycle_ns(&self) -> u64 {
        let run: u64 = self.schedule.running_ns().iter().sum();
        if self.is_software() { run } else { run.max(self.schedule.cycle_ns()) }
    }

    /// Bytes on the wire of a frame that has `bytes` for the kernel.
    fn on_wire(&self, bytes: u32) -> u64 {
        u64::from(bytes) + u64::from(self.schedule.overhead.value)
    }

    /// The MTU of the interface.
    fn mtu(&self) -> u32 {
        self.device.mtu.unwrap_or(1500)
    }

    /// `class blue`, `class 3`.
    fn class(&self, class: usize) -> String {
        format!("class {}", self.switch.class_name(class as u8))
    }
}

/// The findings so far, and the switch and port under examination.
struct Found<'t> {
    text: &'t str,
    /// Switch and port.
    at: (String, Option<String>),
    findings: Vec<Finding>,
}

impl Found<'_> {
    fn in_switch(&mut self, switch: &Switch, port: Option<&Port>) {
        self.at = (switch.name.value.clone(), port.map(|port| port.interface.value.clone()));
    }

    fn add(&mut self, rule: &'static str, kind: Kind, span: Span, texts: [String; 3]) {
        let [what, effect, change] = texts;
        let (switch, port) = self.at.clone();
        let line = span.line(self.text);
        self.findings.push(Finding { rule, kind, what, effect, change, switch, port, line, span });
    }

    /// Adds a problem that the kernel accepts.
    fn accepted(&mut self, rule: &'static str, span: Span, texts: [String; 3]) {
        self.add(rule, Kind::Accepted, span, texts);
    }

    /// Adds a note.
    fn note(&mut self, rule: &'static str, span: Span, texts: [String; 3]) {
        self.add(rule, Kind::Note, span, texts);
    }
}
