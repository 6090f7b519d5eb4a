//! The model of a switch's ports that `check` judges by and the simulator runs: whose gates, and which devices.

use serde::Serialize;

use crate::network::{End, Network, Port, PortId, Schedule, Speed, VirtualPorts};

/// The rate of a cable without a stated speed: that of a veth pair.
pub(crate) const DEFAULT_BITS_PER_SECOND: u64 = 10_000_000_000;

/// Whose gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// IEEE 802.1Q clauses 8.6.8.4 and 8.6.9.
    Standard,
    /// The kernel's software TAPRIO.
    #[default]
    Linux,
}

impl Mode {
    /// The gates of a port with this schedule: a device with the hardware's own schedule follows the standard.
    pub fn at(self, schedule: &Schedule) -> Self {
        if schedule.is_in_hardware() { Self::Standard } else { self }
    }

    /// A description for the user, such as "the gates of IEEE 802.1Q".
    fn describe(self) -> &'static str {
        match self {
            Self::Standard => "the gates of IEEE 802.1Q",
            Self::Linux => "the gates of the kernel's software TAPRIO",
        }
    }
}

/// The devices of a network's ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ports {
    /// Network cards: they queue a few frames in advance and send them at the cable's rate.
    #[default]
    Hardware,
    /// The devices of `--netns`: veth, which delivers frames at once and reports 10 Gbit/s to the kernel, and tap
    /// devices, which are read at the port's rate.
    Virtual,
}

impl Ports {
    /// The default of every command: the ports that a test of the file would use. Hosts with interfaces are connected to a
    /// real switch.
    pub fn of_test(network: &Network) -> Self {
        let is_cabled = network.hosts.iter().any(|host| host.interface.is_some());
        if is_cabled { Self::Hardware } else { Self::Virtual }
    }

    /// The value of `--ports`.
    fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Virtual => "virtual",
        }
    }

    /// The speed that ethtool would report to the kernel for a port, in bit/s. `None`: unknown, for which the kernel assumes
    /// 10 Mbit/s.
    pub fn kernel_bps(self, network: &Network, id: PortId) -> Option<u64> {
        let port = &network.switches[id.switch].ports[id.port];
        let is_virtual = self == Self::Virtual;
        match port.speed.value {
            _ if is_virtual && !is_tap(network, id) => Some(DEFAULT_BITS_PER_SECOND),
            Speed::AsKernelSays if is_virtual => None,
            Speed::Unknown => None,
            Speed::BitsPerSecond(rate) => Some(rate),
            Speed::AsKernelSays => Some(cable_rate(network, End::Port(id))),
        }
    }
}

/// A description of the model for the user, such as "the gates of IEEE 802.1Q, and …". `ring_frames`: the size of a network
/// card's ring, if it is part of the model.
pub fn describe(mode: Mode, ports: Ports, ring_frames: Option<u32>) -> String {
    let devices = match (ports, mode, ring_frames) {
        (Ports::Hardware, Mode::Standard, _) => {
            "network cards, which accept a frame when the previous one has been sent".to_owned()
        }
        (Ports::Hardware, Mode::Linux, Some(frames)) => {
            format!("network cards with a ring of {frames} frames")
        }
        (Ports::Hardware, Mode::Linux, None) => "network cards".to_owned(),
        (Ports::Virtual, Mode::Standard, _) => {
            "ports of the file's speeds behind the talkers of --netns".to_owned()
        }
        (Ports::Virtual, Mode::Linux, _) => "the veth and tap devices of --netns".to_owned(),
    };
    format!("{}, and {devices} (--ports {})", mode.describe(), ports.name())
}

/// How the port `name` differs from the model because of its schedule's `flags`, for the user.
pub fn exception(name: &str, schedule: &Schedule) -> Option<String> {
    match schedule.flags.value {
        0 => None,
        flags if flags & 2 == 0 => Some(format!(
            "{name}: with flags = 1 frames get transmit times for ETF, and no gate holds them back"
        )),
        _ => Some(format!("{name}: with flags = 2 the gates are in hardware, as in IEEE 802.1Q")),
    }
}

/// The rate of a cable in bit/s, from the port at either end.
pub(crate) fn cable_rate(network: &Network, end: End) -> u64 {
    let link = network.links.iter().find(|link| link.a == end || link.b == end);
    link.and_then(|link| link.bits_per_second).unwrap_or(DEFAULT_BITS_PER_SECOND)
}

/// Whether `--netns` creates tap devices for a port's cable, because of the port or of the one at the other end.
pub(crate) fn is_tap(network: &Network, id: PortId) -> bool {
    let port = |id: PortId| &network.switches[id.switch].ports[id.port];
    let far = match network.far_end(id) {
        Some(End::Port(far)) => Some(port(far)),
        _ => None,
    };
    [Some(port(id)), far].into_iter().flatten().any(|port| wants_tap(network, port))
}

/// Whether `--netns` creates a tap device for a port: one with a schedule and a stated speed computes and sends at
/// that speed.
fn wants_tap(network: &Network, port: &Port) -> bool {
    match network.netns.ports {
        VirtualPorts::Tap => true,
        VirtualPorts::Veth => false,
        VirtualPorts::AsSpeed => port.schedule.is_some() && port.speed.value.known().is_some(),
    }
}
