//! One change to the network, and how it is undone.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tardy_host::journal::{self, Kind, Undo, Undone, tagged};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::links::{self, PortVlan, StampConfig};
use tardy_sys::netlink::NetlinkError;
use tardy_sys::{network, qdiscs};

use super::displaced::Displaced;
use super::shaper::{HANDLE, ShaperRecord};
use super::state::Shelf;
use super::{open_vswitch, program};

/// A change to the network, in the namespace that it was made in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Names the network namespace: the inode of its file in /proc.
    pub namespace: u64,
    /// The change.
    pub change: Change,
}

/// A change to the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// A bridge was made.
    Bridge {
        /// Its name.
        name: String,
    },
    /// An Open vSwitch bridge was made.
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
    /// A port of an Open vSwitch bridge got other VLANs.
    OpenVSwitchVlans {
        /// The port.
        name: String,
        /// Those that it had, as columns of ovs-vswitchd.conf.db(5).
        columns: Vec<String>,
    },
    /// A bridge that was there filters VLANs, or not any more.
    Filtering {
        /// The bridge.
        name: String,
        /// Whether it did.
        was: bool,
    },
    /// An interface became a port of a bridge.
    Port {
        /// The interface.
        name: String,
        /// The bridge whose port it was.
        was_of: Option<String>,
        /// Its VLANs there.
        #[serde(default)]
        vlans: Vec<Vlan>,
    },
    /// A port of a bridge of tardy's got other VLANs.
    Vlans {
        /// The port.
        name: String,
        /// Those that it had.
        vlans: Vec<Vlan>,
    },
    /// An interface was set up.
    Up {
        /// The interface.
        name: String,
    },
    /// A port got a time-aware shaper.
    Shaper {
        /// The port.
        name: String,
        /// What somebody else had set there.
        #[serde(default)]
        was: Option<Displaced>,
    },
    /// A shaper that ran got another schedule.
    Schedule {
        /// The port.
        name: String,
        /// The one that it had.
        was: Box<ShaperRecord>,
    },
    /// nft got a table in the bridge family.
    NftTable {
        /// Its name.
        name: String,
    },
    /// A port got a `clsact` with filters.
    Filters {
        /// The port.
        name: String,
    },
    /// iptables got a rule in its mangle table.
    IptablesRule {
        /// The chain and the rule.
        words: Vec<String>,
    },
    /// A kernel file of /proc/sys was changed.
    Sysctl {
        /// The file.
        path: String,
        /// What it held.
        was: String,
    },
    /// An interface gives times to every frame that it receives.
    ReceiveStamps {
        /// The interface.
        name: String,
        /// Flags, transmit type and receive filter that it had (`struct hwtstamp_config`).
        was: [i32; 3],
    },
}

impl Change {
    /// Whether it is of a bridge itself or of what is a port of it.
    pub(super) fn is_of_the_bridge(&self) -> bool {
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

    /// Whether both change the same thing, whatever it was before.
    pub(super) fn is_of_the_same(&self, other: &Self) -> bool {
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

/// A VLAN of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vlan {
    /// Its number.
    pub id: u16,
    /// Whether untagged frames that come in are of it.
    pub pvid: bool,
    /// Whether its frames leave without a tag.
    pub untagged: bool,
}

impl From<PortVlan> for Vlan {
    fn from(vlan: PortVlan) -> Self {
        Self { id: vlan.id, pvid: vlan.pvid, untagged: vlan.untagged }
    }
}

impl From<Vlan> for PortVlan {
    fn from(vlan: Vlan) -> Self {
        Self { id: vlan.id, pvid: vlan.pvid, untagged: vlan.untagged }
    }
}

/// How to undo a [`Step`].
pub const UNDO: Kind = Kind { name: "network", read: journal::read::<Step>, first: false };

impl Undo for Step {
    fn kind(&self) -> &'static str {
        UNDO.name
    }

    fn describe(&self) -> String {
        Self::describe(self)
    }

    fn to_json(&self) -> Value {
        tagged(UNDO.name, self)
    }

    /// Undoes the step, and takes it off the saved states of the switches that it was part of.
    fn undo(&self, _files: &KernelFiles) -> Result<Undone, String> {
        Self::undo(self)?;
        Shelf::own().forget(self);
        Ok(Undone::Done)
    }
}

impl Step {
    /// `change`, to be made in this thread's network namespace.
    ///
    /// # Errors
    /// In words, where /proc does not tell which that is.
    pub fn here(change: Change) -> Result<Self, String> {
        Ok(Self { namespace: namespace()?, change })
    }

    /// What was done, for people.
    pub fn describe(&self) -> String {
        match &self.change {
            Change::Bridge { name } => format!("bridge {name}"),
            Change::OpenVSwitch { name } => format!("Open vSwitch bridge {name}"),
            Change::OpenVSwitchPort { name, bridge } => format!("{name} as a port of {bridge}"),
            Change::OpenVSwitchVlans { name, .. } => format!("VLANs of {name}"),
            Change::Filtering { name, .. } => format!("VLAN filtering of bridge {name}"),
            Change::Port { name, .. } => format!("{name} as a port"),
            Change::Vlans { name, .. } => format!("VLANs of {name}"),
            Change::Up { name } => format!("{name} set up"),
            Change::Shaper { name, was } => {
                let shaper = format!("time-aware shaper of {name}");
                match was {
                    None => shaper,
                    Some(was) if was.returns() => {
                        format!("{shaper}, in whose place {} comes back", was.describe())
                    }
                    Some(was) => {
                        format!("{shaper}; {} was there before and cannot be brought back", was.describe())
                    }
                }
            }
            Change::Schedule { name, .. } => format!("schedule of {name}"),
            Change::NftTable { name } => format!("nft table bridge {name}"),
            Change::Filters { name } => format!("filters of {name}"),
            Change::IptablesRule { words } => format!("iptables rule {}", words.join(" ")),
            Change::Sysctl { path, was } => format!("{path}, which was '{was}'"),
            Change::ReceiveStamps { name, was: [_, _, filter] } => {
                format!("times of arrival by {name} itself, whose receive filter was {filter}")
            }
        }
    }

    /// Undoes it. What is undone already, or gone with its interface, is no error.
    ///
    /// # Errors
    /// In words.
    pub fn undo(&self) -> Result<(), String> {
        if namespace()? != self.namespace {
            let number = self.namespace;
            return Err(format!(
                "it is in another network namespace (net:[{number}]); do this there: nsenter or 'ip netns exec' leads into it"
            ));
        }
        self.check()?;
        match &self.change {
            Change::Bridge { name } => gone(links::delete(name)),
            Change::OpenVSwitch { name } => open_vswitch::take_away(name),
            Change::OpenVSwitchPort { name, bridge } => open_vswitch::leave(name, bridge),
            Change::OpenVSwitchVlans { name, columns } => open_vswitch::put_back(name, columns),
            Change::Filtering { name, was } => gone(links::set_vlan_filtering(name, *was)),
            Change::Port { name, was_of, vlans } => undo_port(name, was_of.as_deref(), vlans),
            Change::Vlans { name, vlans } => set_vlans(name, vlans),
            Change::Up { name } => gone(links::set_down(name)),
            Change::Shaper { name, was } => undo_shaper(name, was.as_ref()),
            Change::Schedule { name, was } => was.send(name),
            Change::NftTable { name } => undo_table(name),
            Change::Filters { name } => undo_filters(name),
            Change::IptablesRule { words } => undo_rule(words),
            Change::Sysctl { path, was } => tardy_sys::kernel_files::KernelFiles::real()
                .write(path, was)
                .map_err(|error| error.to_string()),
            Change::ReceiveStamps { name, was } => undo_stamps(name, *was),
        }
    }

    /// A journal that someone else wrote must not make tardy run or write just anything.
    fn check(&self) -> Result<(), String> {
        let sound = match &self.change {
            Change::Bridge { name }
            | Change::OpenVSwitch { name }
            | Change::Filtering { name, .. }
            | Change::Port { name, .. }
            | Change::Vlans { name, .. }
            | Change::Up { name }
            | Change::Shaper { name, .. }
            | Change::Schedule { name, .. }
            | Change::Filters { name }
            | Change::ReceiveStamps { name, .. } => is_interface(name),
            Change::OpenVSwitchPort { name, bridge } => is_interface(name) && is_interface(bridge),
            Change::OpenVSwitchVlans { name, columns } => {
                is_interface(name) && open_vswitch::are_columns(columns)
            }
            Change::NftTable { name } => name.starts_with("tardy_") && is_word(name),
            Change::IptablesRule { words } => words.first().is_some_and(|word| word == "POSTROUTING"),
            Change::Sysctl { path, .. } => path.starts_with("/proc/sys/net/") && !path.contains(".."),
        };
        if sound { Ok(()) } else { Err(format!("{} is nothing that tardy changes", self.describe())) }
    }
}

/// What names the calling thread's network namespace.
pub(super) fn namespace() -> Result<u64, String> {
    let own = network::Namespace::own().map_err(|error| format!("/proc/thread-self/ns/net: {error}"))?;
    own.number().map_err(|error| format!("/proc/thread-self/ns/net: {error}"))
}

/// Whether this can be the name of an interface, and no option of a program.
fn is_interface(name: &str) -> bool {
    let odd = |letter: char| letter == '/' || letter.is_whitespace() || letter.is_control();
    (1..16).contains(&name.len())
        && !name.starts_with('-')
        && name != "."
        && name != ".."
        && !name.contains(odd)
}

fn is_word(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn gone(result: Result<(), NetlinkError>) -> Result<(), String> {
    match result {
        Err(error) if !error.is_absent() => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn undo_port(name: &str, was_of: Option<&str>, vlans: &[Vlan]) -> Result<(), String> {
    match links::find(name).map_err(|error| error.to_string())? {
        None => Ok(()),
        Some(_) => {
            gone(links::set_master(name, was_of))?;
            if was_of.is_some() { set_vlans(name, vlans) } else { Ok(()) }
        }
    }
}

/// Makes `name` a member of exactly these VLANs.
pub(super) fn set_vlans(name: &str, wanted: &[Vlan]) -> Result<(), String> {
    let describe = |error: NetlinkError| format!("VLANs of {name}: {error}");
    if links::find(name).map_err(describe)?.is_none_or(|link| link.master.is_none()) {
        return Ok(());
    }
    let there = links::vlans_of(name).map_err(describe)?;
    for vlan in there.iter().filter(|vlan| !wanted.iter().any(|other| PortVlan::from(*other) == **vlan)) {
        links::delete_vlan(name, vlan.id).map_err(describe)?;
    }
    for vlan in wanted.iter().map(|vlan| PortVlan::from(*vlan)).filter(|vlan| !there.contains(vlan)) {
        links::add_vlan(name, vlan).map_err(describe)?;
    }
    Ok(())
}

fn undo_shaper(name: &str, was: Option<&Displaced>) -> Result<(), String> {
    let classes = match qdiscs::classes_of(name) {
        Err(error) if error.is_absent() => return Ok(()),
        classes => classes.map_err(|error| error.to_string())?,
    };
    // Only tardy's own: another may have been put in its place.
    let is_ours = |(kind, handle): &(String, u32)| kind == "taprio" && handle >> 16 == u32::from(HANDLE);
    if classes.iter().any(is_ours) {
        gone(qdiscs::delete_root(name))?;
    }
    was.map_or(Ok(()), |was| was.bring_back(name))
}

fn undo_stamps(name: &str, [flags, transmit, filter]: [i32; 3]) -> Result<(), String> {
    match links::find(name).map_err(|error| error.to_string())? {
        None => Ok(()),
        Some(_) => links::set_stamp_config(name, StampConfig { flags, transmit, filter })
            .map_err(|error| error.to_string()),
    }
}

fn undo_table(name: &str) -> Result<(), String> {
    // Declared first, so that there is one to delete: then it is no error that it is gone.
    program::feed("nft", &["-f", "-"], &format!("table bridge {name} {{\n}}\ndelete table bridge {name}\n"))
}

fn undo_filters(name: &str) -> Result<(), String> {
    let has = match qdiscs::of(name) {
        Err(error) if error.is_absent() => return Ok(()),
        qdiscs => qdiscs.map_err(|error| error.to_string())?.iter().any(|qdisc| qdisc.kind == "clsact"),
    };
    if has { program::run("tc", &["qdisc", "del", "dev", name, "clsact"]) } else { Ok(()) }
}

fn undo_rule(words: &[String]) -> Result<(), String> {
    let rule = |action: &'static str| {
        let mut all = vec!["-t", "mangle", action];
        all.extend(words.iter().map(String::as_str));
        all
    };
    match program::run("iptables", &rule("-C")) {
        Ok(()) => program::run("iptables", &rule("-D")),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_tardy_changes_is_undone() {
        let step = |change| Step { namespace: namespace().unwrap(), change };
        let bridge = |name: &str| step(Change::Bridge { name: name.to_owned() });
        assert!(bridge("tsn0").check().is_ok());
        for name in ["", "--help", "a b", "../x", "seventeen-letters"] {
            assert!(bridge(name).check().is_err(), "{name}");
        }
        assert!(step(Change::NftTable { name: "filter".to_owned() }).check().is_err());
        let file = |path: &str| step(Change::Sysctl { path: path.to_owned(), was: "1".to_owned() });
        assert!(file("/etc/passwd").check().is_err());
        assert!(file("/proc/sys/net/../kernel/x").check().is_err());
    }

    #[test]
    fn the_receive_filter_of_what_is_gone_or_has_none_needs_no_undoing_or_says_why() {
        let stamps = |name: &str| Change::ReceiveStamps { name: name.to_owned(), was: [0, 1, 12] };
        let step = Step::here(stamps("no-such-link")).unwrap();
        assert_eq!(step.undo(), Ok(()));
        assert!(step.describe().contains("receive filter was 12"), "{}", step.describe());
        let text = serde_json::to_string(&step).unwrap();
        assert_eq!(serde_json::from_str::<Step>(&text).unwrap(), step);
        assert!(Step::here(stamps("lo")).unwrap().undo().is_err(), "the loopback device stamps nothing");
        assert!(
            Step::here(stamps("../x")).unwrap().undo().unwrap_err().contains("nothing that tardy changes")
        );
    }

    #[test]
    fn what_is_in_another_namespace_is_left_to_it() {
        let step = Step { namespace: 1, change: Change::Bridge { name: "tsn0".to_owned() } };
        assert!(step.undo().unwrap_err().contains("another network namespace"));
    }
}
