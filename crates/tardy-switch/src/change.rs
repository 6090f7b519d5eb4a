//! The changes to the network that tardy makes and can undo.

use serde::{Deserialize, Serialize};
use tardy_sys::network;

use super::displaced::Displaced;
use super::iptables_rule::IptablesRule;
use super::shaper::ShaperRecord;
use super::vlans::Vlan;

/// A change to the network, and the network namespace in which it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The network namespace, as the inode number of its file in /proc.
    pub namespace: u64,
    /// The change.
    pub change: Change,
}

/// A change to the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// A bridge was created.
    Bridge {
        /// Its name.
        name: String,
    },
    /// An Open vSwitch bridge was created.
    OpenVSwitch {
        /// Its name.
        name: String,
    },
    /// An interface became a port of an Open vSwitch bridge.
    OpenVSwitchPort {
        /// The interface.
        name: String,
        /// The bridge.
        bridge: String,
    },
    /// The VLANs of a port of an Open vSwitch bridge were changed.
    OpenVSwitchVlans {
        /// The port.
        name: String,
        /// Its former VLANs, as columns of ovs-vswitchd.conf.db(5).
        columns: Vec<String>,
    },
    /// The VLAN filtering of an existing bridge was switched on or off.
    Filtering {
        /// The bridge.
        name: String,
        /// Whether it was on before.
        was: bool,
    },
    /// An interface became a port of a bridge.
    Port {
        /// The interface.
        name: String,
        /// Its former bridge.
        was_of: Option<String>,
        /// Its VLANs in its former bridge.
        #[serde(default)]
        vlans: Vec<Vlan>,
    },
    /// The VLANs of a port of tardy's bridge were changed.
    Vlans {
        /// The port.
        name: String,
        /// Its former VLANs.
        vlans: Vec<Vlan>,
    },
    /// An interface was brought up.
    Up {
        /// The interface.
        name: String,
    },
    /// A port received a time-aware shaper.
    Shaper {
        /// The port.
        name: String,
        /// Another program's queueing discipline that the shaper replaced.
        #[serde(default)]
        was: Option<Displaced>,
    },
    /// The schedule of a running shaper was replaced.
    Schedule {
        /// The port.
        name: String,
        /// Its former schedule.
        was: Box<ShaperRecord>,
    },
    /// A table was added to nft's bridge family.
    NftTable {
        /// Its name.
        name: String,
    },
    /// A `clsact` with filters was added to a port.
    Filters {
        /// The port.
        name: String,
    },
    /// A rule was added to iptables' mangle table.
    IptablesRule {
        /// The rule.
        words: IptablesRule,
    },
    /// A kernel file of /proc/sys was changed.
    Sysctl {
        /// The file.
        path: String,
        /// Its former contents.
        was: String,
    },
    /// An interface was set to time-stamp every frame that it receives.
    ReceiveStamps {
        /// The interface.
        name: String,
        /// Its former flags, transmit type and receive filter (`struct hwtstamp_config`).
        was: [i32; 3],
    },
}

impl Change {
    /// Whether this changes a bridge or one of its ports.
    pub(super) fn changes_bridge(&self) -> bool {
        matches!(
            self,
            Self::Bridge { .. }
                | Self::OpenVSwitch { .. }
                | Self::OpenVSwitchPort { .. }
                | Self::OpenVSwitchVlans { .. }
                | Self::Filtering { .. }
                | Self::Port { .. }
                | Self::Vlans { .. }
        )
    }

    /// Whether both change the same object, regardless of its recorded former state.
    pub(super) fn changes_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Filtering { name: one, .. }, Self::Filtering { name: two, .. })
            | (Self::Port { name: one, .. }, Self::Port { name: two, .. })
            | (Self::Shaper { name: one, .. }, Self::Shaper { name: two, .. })
            | (Self::Vlans { name: one, .. }, Self::Vlans { name: two, .. })
            | (Self::OpenVSwitchVlans { name: one, .. }, Self::OpenVSwitchVlans { name: two, .. })
            | (Self::ReceiveStamps { name: one, .. }, Self::ReceiveStamps { name: two, .. })
            | (Self::Sysctl { path: one, .. }, Self::Sysctl { path: two, .. }) => one == two,
            _ => self == other,
        }
    }
}

impl Step {
    /// A step that makes `change` in this thread's network namespace.
    ///
    /// # Errors
    /// A message for the user, if the namespace cannot be read from /proc.
    pub fn here(change: Change) -> Result<Self, String> {
        Ok(Self { namespace: namespace()?, change })
    }

    /// The change, for messages.
    pub fn describe(&self) -> String {
        match &self.change {
            Change::Bridge { name } => format!("bridge {name}"),
            Change::OpenVSwitch { name } => format!("Open vSwitch bridge {name}"),
            Change::OpenVSwitchPort { name, bridge } => format!("{name} as a port of {bridge}"),
            Change::OpenVSwitchVlans { name, .. } => format!("VLANs of {name}"),
            Change::Filtering { name, .. } => format!("VLAN filtering of bridge {name}"),
            Change::Port { name, .. } => format!("{name} as a port"),
            Change::Vlans { name, .. } => format!("VLANs of {name}"),
            Change::Up { name } => format!("{name} brought up"),
            Change::Shaper { name, was } => {
                let shaper = format!("time-aware shaper of {name}");
                match was {
                    None => shaper,
                    Some(was) if was.is_restorable() => {
                        format!("{shaper}; {} is restored", was.describe())
                    }
                    Some(was) => {
                        format!("{shaper}; the former {} cannot be restored", was.describe())
                    }
                }
            }
            Change::Schedule { name, .. } => format!("schedule of {name}"),
            Change::NftTable { name } => format!("nft table bridge {name}"),
            Change::Filters { name } => format!("filters of {name}"),
            Change::IptablesRule { words } => format!("iptables rule {}", words.words().join(" ")),
            Change::Sysctl { path, was } => format!("{path}, which was '{was}'"),
            Change::ReceiveStamps { name, was: [_, _, filter] } => {
                format!("hardware time stamps of {name}, whose receive filter was {filter}")
            }
        }
    }
}

/// The inode number of the calling thread's network namespace.
pub(super) fn namespace() -> Result<u64, String> {
    let own = network::Namespace::own().map_err(|error| format!("/proc/thread-self/ns/net: {error}"))?;
    own.number().map_err(|error| format!("/proc/thread-self/ns/net: {error}"))
}
