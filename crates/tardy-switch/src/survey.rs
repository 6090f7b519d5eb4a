//! Finds obstacles before the network is changed.

use tardy_sys::links::{self, LinkInfo};
use tardy_tsn::network::Bridge;
use tardy_tsn::settings::Settings;

use super::displaced::Displaced;
use super::open_vswitch::{self, OpenVSwitch};
use super::own_connection;
use super::saved_states::SwitchState;

/// The existing links.
#[derive(Debug)]
pub(super) struct Survey {
    links: Vec<LinkInfo>,
}

/// The actions that the caller permits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowances {
    /// Whether other programs' bridges and queueing disciplines may be replaced.
    pub replace: bool,
    /// Whether to send the kernel requests that it is known to refuse.
    pub unchecked: bool,
    /// Whether the interface of the caller's own connection may become a port.
    pub own_connection: bool,
}

impl Survey {
    /// Examines this machine, and refuses settings that cannot or must not be applied.
    ///
    /// # Errors
    /// A message for the user: every obstacle, one line each.
    pub(super) fn look(
        settings: &Settings,
        known: Option<&SwitchState>,
        allowed: Allowances,
        switch: &OpenVSwitch,
    ) -> Result<Self, String> {
        let links = links::all().map_err(|error| format!("cannot list the network interfaces: {error}"))?;
        let survey = Self { links };
        let mut problems = Vec::new();
        problems.extend(survey.about_bridge(settings, known, allowed));
        let own = if allowed.own_connection { None } else { own_connection::interface() };
        for port in &settings.ports {
            problems.extend(survey.about_port(&port.interface, settings, allowed, switch));
            if own.as_deref() == Some(port.interface.as_str()) {
                problems.push(format!(
                    "{}: your own SSH connection uses it, and a port of a bridge loses its addresses; \
                     connect another way, or use --even-my-own-connection",
                    port.interface
                ));
            }
            if let Some(taprio) = &port.taprio {
                problems.extend(survey.about_shaper(&port.interface, taprio.num_tc, allowed));
            }
        }
        if problems.is_empty() { Ok(survey) } else { Err(problems.join("\n")) }
    }

    /// The link called `name`.
    pub(super) fn link(&self, name: &str) -> Option<&LinkInfo> {
        self.links.iter().find(|link| link.name == name)
    }

    /// The name of the link `index`.
    pub(super) fn name_of(&self, index: u32) -> Option<&str> {
        self.links.iter().find(|link| link.index == index).map(|link| link.name.as_str())
    }

    fn about_bridge(
        &self,
        settings: &Settings,
        known: Option<&SwitchState>,
        allowed: Allowances,
    ) -> Option<String> {
        let name = &settings.bridge.name;
        let link = self.link(name)?;
        let (wanted, word) = match settings.bridge.kind {
            Bridge::Kernel => ("bridge", "kernel"),
            Bridge::OpenVSwitch => ("openvswitch", "openvswitch"),
        };
        let kind = link.kind.as_deref().unwrap_or("");
        if !["bridge", "openvswitch"].contains(&kind) {
            return Some(format!("{name} is an interface, not a bridge; give the switch another name"));
        }
        if kind != wanted {
            return Some(format!(
                "{name} exists as a bridge of another kind than bridge = \"{word}\"; give the switch another name, or remove the bridge first"
            ));
        }
        (known.is_none() && !allowed.replace).then(|| {
            format!(
                "the bridge {name} exists, and tardy did not create it; give the switch another name, or use --replace"
            )
        })
    }

    fn about_port(
        &self,
        name: &str,
        settings: &Settings,
        allowed: Allowances,
        switch: &OpenVSwitch,
    ) -> Option<String> {
        let Some(link) = self.link(name) else {
            let names: Vec<&str> = self.links.iter().map(|link| link.name.as_str()).collect();
            return Some(format!("there is no interface {name}; there are {}", names.join(", ")));
        };
        let master = link.master.and_then(|master| self.name_of(master))?;
        if master == open_vswitch::DATAPATH {
            return match switch.bridge_of(name) {
                Ok(bridge) if bridge == settings.bridge.name => None,
                // The kernel lets only Open vSwitch remove it.
                Ok(bridge) => Some(format!(
                    "{name} is a port of Open vSwitch's bridge {bridge}; remove it there: ovs-vsctl del-port {bridge} {name}"
                )),
                Err(reason) => Some(format!("{name} is a port of Open vSwitch: {reason}")),
            };
        }
        (master != settings.bridge.name && !allowed.replace)
            .then(|| format!("{name} is a port of {master}; remove it there, or use --replace"))
    }

    fn about_shaper(&self, name: &str, classes: u8, allowed: Allowances) -> Option<String> {
        let link = self.link(name)?;
        if link.tx_queues < 2 && !allowed.unchecked {
            return Some(format!(
                "{name} has a single transmit queue, and the shaper needs one per class ({classes}); \
                 a veth has several if created with 'numtxqueues N numrxqueues N', a network card if its driver supports them"
            ));
        }
        let there = Displaced::at(name)?;
        let (there, later) =
            (there.describe(), if there.is_restorable() { "restores" } else { "cannot restore" });
        (!allowed.replace).then(|| {
            format!(
                "{name} has a queueing discipline already ({there}); remove it, or use --replace, which {later} it later"
            )
        })
    }
}
