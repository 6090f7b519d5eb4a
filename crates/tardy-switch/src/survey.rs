//! What stands in the way, found out before anything is changed.

use tardy_sys::links::{self, LinkInfo};
use tardy_tsn::network::Bridge;
use tardy_tsn::settings::Settings;

use super::displaced::Displaced;
use super::open_vswitch::{self, OpenVSwitch};
use super::own_connection;
use super::state::SwitchState;

/// What is there already.
#[derive(Debug)]
pub(super) struct Survey {
    links: Vec<LinkInfo>,
}

/// What the caller allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowances {
    /// Whether bridges and queueing disciplines that are not tardy's may be replaced.
    pub replace: bool,
    /// Whether the kernel shall be asked also for what it is known to refuse.
    pub unchecked: bool,
    /// Whether the interface of the caller's own connection may become a port.
    pub own_connection: bool,
}

impl Survey {
    /// Looks at this machine, and refuses what must not or cannot be done.
    ///
    /// # Errors
    /// In words, everything that stands in the way, a line for each.
    pub(super) fn look(
        settings: &Settings,
        known: Option<&SwitchState>,
        allowed: Allowances,
        switch: &OpenVSwitch,
    ) -> Result<Self, String> {
        let links = links::all().map_err(|error| format!("the links cannot be listed: {error}"))?;
        let survey = Self { links };
        let mut problems = Vec::new();
        problems.extend(survey.about_bridge(settings, known, allowed));
        let own = if allowed.own_connection { None } else { own_connection::interface() };
        for port in &settings.ports {
            problems.extend(survey.about_port(&port.interface, settings, allowed, switch));
            if own.as_deref() == Some(port.interface.as_str()) {
                problems.push(format!(
                    "{}: your own SSH connection runs over it, and a port of a bridge loses its addresses; \
                     take another way in, or say --even-my-own-connection",
                    port.interface
                ));
            }
            if let Some(taprio) = &port.taprio {
                problems.extend(survey.about_shaper(&port.interface, taprio.num_tc, allowed));
            }
        }
        if problems.is_empty() { Ok(survey) } else { Err(problems.join("\n")) }
    }

    /// The link of that name.
    pub(super) fn link(&self, name: &str) -> Option<&LinkInfo> {
        self.links.iter().find(|link| link.name == name)
    }

    /// The name of the link of that number.
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
            return Some(format!("{name} is an interface, and no bridge; give the switch another name"));
        }
        if kind != wanted {
            return Some(format!(
                "{name} is there as a bridge of another kind than bridge = \"{word}\"; give the switch another name, or take it away first"
            ));
        }
        (known.is_none() && !allowed.replace).then(|| {
            format!(
                "the bridge {name} is there already, and not of tardy's making; give the switch another name, or say --replace to use it"
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
                // The kernel lets none but Open vSwitch take it out.
                Ok(bridge) => Some(format!(
                    "{name} is a port of Open vSwitch's bridge {bridge}; take it out there: ovs-vsctl del-port {bridge} {name}"
                )),
                Err(reason) => Some(format!("{name} is a port of Open vSwitch: {reason}")),
            };
        }
        (master != settings.bridge.name && !allowed.replace)
            .then(|| format!("{name} is a port of {master}; take it out there, or say --replace"))
    }

    fn about_shaper(&self, name: &str, classes: u8, allowed: Allowances) -> Option<String> {
        let link = self.link(name)?;
        if link.tx_queues < 2 && !allowed.unchecked {
            return Some(format!(
                "{name} has a single queue to send, and the shaper needs one for each class ({classes}); \
                 a veth has several when it is made with 'numtxqueues N numrxqueues N', a network card when its driver has them"
            ));
        }
        let there = Displaced::at(name)?;
        let (there, later) =
            (there.describe(), if there.returns() { "have it back later" } else { "lose it" });
        (!allowed.replace).then(|| {
            format!(
                "{name} has a queueing discipline already ({there}); take it away, or say --replace to {later}"
            )
        })
    }
}
