//! What is wrong with a switch before anything is touched: what the kernel refuses, and what it accepts and gets wrong.
//!
//! A pure function of the file and of what the machine says about itself, if it was asked. Each finding says what happens
//! on the wire, in numbers of this file, and what to write instead. The rules are those of Linux 6.12's software TAPRIO:
//! the standard would refuse some of what the kernel accepts, and the other way round.

mod cabling;
mod classes;
mod flows;
pub mod kernel;
mod refused;
mod schedule;
mod surroundings;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::network::{CLASSES_MAX, Clock, Flow, Network, Port, PortId, Schedule, Speed, Switch};
use crate::placed::Span;
use crate::settings::{self, Queues, Taprio};
use crate::transmission_time::UNKNOWN_SPEED_BITS_PER_SECOND;

/// What a machine says about itself. Nothing of it is needed.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Network interfaces, by name.
    pub devices: BTreeMap<String, Device>,
    /// Clocks, in nanoseconds since their zero, all read at one moment.
    pub now_ns: BTreeMap<Clock, i64>,
}

/// What a machine says about a network interface. `None`: nobody asked, or no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Transmit queues that it was made with (`num_tx_queues`).
    pub tx_queues: Option<u32>,
    /// Transmit queues that it has now (`real_num_tx_queues`).
    pub real_tx_queues: Option<u32>,
    /// How fast it is, as ethtool has it.
    pub speed: Option<DeviceSpeed>,
    /// The longest payload that it could be set to, in bytes; 0 where it has no bound is to be given as `None`.
    pub mtu_max: Option<u32>,
    /// The longest payload that it takes now, in bytes.
    pub mtu: Option<u32>,
    /// Whether it has a clock of its own.
    pub ptp_clock: Option<bool>,
    /// The schedule that it runs now.
    pub running: Option<Running>,
}

/// Of a schedule that runs, what another cannot change.
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
    /// It does not say: no cable, or a virtual device that was not told.
    Unknown,
    /// Bits per second.
    BitsPerSecond(u64),
}

impl Device {
    /// The speed that TAPRIO computes with (`taprio_set_picos_per_byte`); `None` where nobody asked.
    pub fn speed_for_kernel(&self) -> Option<u64> {
        match self.speed? {
            DeviceSpeed::Unknown => Some(UNKNOWN_SPEED_BITS_PER_SECOND),
            DeviceSpeed::BitsPerSecond(speed) => Some(speed),
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the rule; stays the same from version to version.
    pub rule: &'static str,
    /// Who notices.
    pub kind: Kind,
    /// What, in a few words.
    pub what: String,
    /// What happens on the wire.
    pub effect: String,
    /// What to write instead.
    pub change: String,
    /// The switch.
    pub switch: String,
    /// The port's interface, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The line in the file, counted from 1.
    pub line: usize,
    /// The place in the file.
    #[serde(skip)]
    pub span: Span,
}

/// Who notices that something is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// The kernel refuses.
    Refused {
        /// Name of the error number.
        errno: &'static str,
        /// What the kernel says.
        message: String,
    },
    /// Nobody: the kernel accepts it, and frames go where they should not, or not at all.
    Accepted,
    /// Nothing is wrong, but it is worth knowing.
    Note,
}

impl Kind {
    fn rank(&self) -> u8 {
        match self {
            Self::Refused { .. } => 0,
            Self::Accepted => 1,
            Self::Note => 2,
        }
    }
}

/// Everything that is found in `network`, whose text is `text`: what is refused first, then by the line.
pub fn check(network: &Network, text: &str, machine: &Machine) -> Vec<Finding> {
    let mut found = Found { text, at: (String::new(), None), findings: Vec::new() };
    // Looked for once: there may be thousands of flows.
    let ways: Ways = network.flows.iter().map(|flow| (flow, network.way_out(flow))).collect();
    cabling::rings(network, &mut found);
    for (number, switch) in network.switches.iter().enumerate() {
        cabling::of_switch(switch, &mut found);
        found.in_switch(switch, None);
        surroundings::of_switch(switch, &mut found);
        flows::of_switch(network, number, &ways, &mut found);
        for (index, port) in switch.ports.iter().enumerate() {
            let Some(schedule) = &port.schedule else { continue };
            found.in_switch(switch, Some(port));
            let told = machine.devices.get(&port.interface.value);
            let flows = flows::through(&ways, PortId { switch: number, port: index });
            let place = Place { switch, port, schedule, flows, device: device(port, told), told };
            refused::of_port(&place, &mut found);
            schedule::of_port(&place, &mut found);
            classes::of_port(&place, &mut found);
            surroundings::of_port(&place, machine, &mut found);
            flows::of_port(&place, &mut found);
        }
    }
    let mut findings = found.findings;
    findings.sort_by_key(|finding| (finding.kind.rank(), finding.span));
    findings
}

/// What the kernel says first to the schedule of `port`; `None`: it takes it.
pub fn first_refusal(switch: &Switch, port: &Port, told: Option<&Device>) -> Option<kernel::Refusal> {
    let taprio = settings::taprio_of(switch, port)?;
    kernel::refusals(&taprio, &device(port, told)).into_iter().next()
}

/// The device as the machine tells it; where it was not asked, as the file has it.
fn device(port: &Port, told: Option<&Device>) -> Device {
    let mut device = told.cloned().unwrap_or_default();
    if told.is_none() {
        let queues = port.queues.as_ref().map(|queues| u32::from(queues.value));
        (device.tx_queues, device.real_tx_queues) = (queues, queues);
        device.speed = match port.speed.value {
            Speed::AsKernelSays => None,
            Speed::Unknown => Some(DeviceSpeed::Unknown),
            Speed::BitsPerSecond(speed) => Some(DeviceSpeed::BitsPerSecond(speed)),
        };
    }
    device
}

/// Each flow and the ports through which it leaves switches.
type Ways<'a> = Vec<(&'a Flow, Option<Vec<PortId>>)>;

/// A port with a schedule, and what is around it.
struct Place<'a> {
    switch: &'a Switch,
    port: &'a Port,
    schedule: &'a Schedule,
    /// The flows that leave through it.
    flows: Vec<&'a Flow>,
    /// What is known of the device, from the machine or the file.
    device: Device,
    /// What the machine said.
    told: Option<&'a Device>,
}

impl Place<'_> {
    /// Whether the kernel keeps the schedule itself; what hardware does with it is the hardware's.
    fn is_software(&self) -> bool {
        self.schedule.flags.value & 2 == 0
    }

    /// The cycle as it runs.
    fn running_cycle_ns(&self) -> u64 {
        let run: u64 = self.schedule.running_ns().iter().sum();
        if self.is_software() { run } else { run.max(self.schedule.cycle_ns()) }
    }

    /// Bytes on the wire of a frame that the kernel counts as `bytes`.
    fn on_wire(&self, bytes: u32) -> u64 {
        u64::from(bytes) + u64::from(self.schedule.overhead.value)
    }

    /// The longest payload that the interface takes.
    fn mtu(&self) -> u32 {
        self.device.mtu.unwrap_or(1500)
    }

    /// `class blue`, `class 3`.
    fn class(&self, class: usize) -> String {
        format!("class {}", self.switch.class_name(class as u8))
    }
}

/// What was found so far, and where the rules are just now.
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

    fn add(&mut self, rule: &'static str, kind: Kind, span: Span, words: [String; 3]) {
        let [what, effect, change] = words;
        let (switch, port) = self.at.clone();
        let line = span.line(self.text);
        self.findings.push(Finding { rule, kind, what, effect, change, switch, port, line, span });
    }

    /// Adds what the kernel accepts and gets wrong.
    fn accepted(&mut self, rule: &'static str, span: Span, words: [String; 3]) {
        self.add(rule, Kind::Accepted, span, words);
    }

    /// Adds what is worth knowing.
    fn note(&mut self, rule: &'static str, span: Span, words: [String; 3]) {
        self.add(rule, Kind::Note, span, words);
    }
}
