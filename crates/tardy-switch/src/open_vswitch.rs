//! An Open vSwitch bridge instead of the kernel's, told by ovs-vsctl(8) what it shall be.
//!
//! By default ovs-vswitchd manages the queueing disciplines of its ports: when it starts anew it takes away every root
//! that it did not make, the shaper among them. A QoS record of the type `linux-noop` keeps it off
//! (ovs-vswitchd.conf.db(5), table QoS).

use std::path::{Path, PathBuf};

use tardy_sys::links;
use tardy_tsn::settings::{PortSettings, Settings};

use super::ledger::Ledger;
use super::missing::explained;
use super::program;
use super::step::{Change, Vlan};
use super::survey::Survey;

/// The kernel's device that is the master of every port of every bridge of Open vSwitch (datapath/dp_notify.c).
pub(super) const DATAPATH: &str = "ovs-system";
/// How long ovs-vsctl waits for ovs-vswitchd to do what it was told, in s.
const PATIENCE: &str = "--timeout=30";
/// What a port has of VLANs, as columns of table Port.
const VLAN_COLUMNS: [&str; 3] = ["tag", "trunks", "vlan_mode"];

/// Whose Open vSwitch it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OpenVSwitch {
    /// The system's.
    #[default]
    System,
    /// One whose socket is in this directory, and which goes with the process.
    Own(PathBuf),
}

impl OpenVSwitch {
    /// The socket of its database, for `--db`; none: ovs-vsctl's default.
    pub(super) fn database(&self) -> Option<String> {
        match self {
            Self::System => None,
            Self::Own(directory) => Some(database_in(directory)),
        }
    }

    /// What ovs-vsctl says to `words`.
    fn ask(&self, words: &[&str]) -> Result<String, String> {
        let database = self.database().map(|socket| format!("--db={socket}"));
        let mut all = vec![PATIENCE];
        all.extend(database.as_deref());
        all.extend(words);
        program::output("ovs-vsctl", &all, "").map_err(|reason| {
            if reason.contains("database connection failed") {
                return format!(
                    "{reason}\nOpen vSwitch does not run; on Debian 'systemctl start openvswitch-switch' starts it"
                );
            }
            reason
        })
    }

    /// Waits until ovs-vswitchd has noticed that `port` is up, before which it forwards nothing to it.
    ///
    /// # Errors
    /// In words, if that does not come in time.
    pub(super) fn wait_for(&self, port: &str) -> Result<(), String> {
        self.ask(&["wait-until", "interface", port, "link_state=up"]).map(drop)
    }

    /// The bridge that `port` is in.
    ///
    /// # Errors
    /// In words, if ovs-vsctl cannot be asked.
    pub(super) fn bridge_of(&self, port: &str) -> Result<String, String> {
        Ok(self.ask(&["iface-to-br", port])?.trim().to_owned())
    }
}

/// The database's socket of an Open vSwitch whose files are in `directory`.
pub(super) fn database_in(directory: &Path) -> String {
    format!("unix:{}", directory.join("db.sock").display())
}

/// Makes the bridge and its ports what the settings say, where they are not.
pub(super) fn set_up(
    settings: &Settings,
    survey: &Survey,
    switch: &OpenVSwitch,
    ledger: &mut Ledger,
    changed: &mut Vec<String>,
) -> Result<(), String> {
    let name = &settings.bridge.name;
    if survey.link(name).is_none() {
        note(switch, ledger, Change::OpenVSwitch { name: name.clone() }, || {
            switch.ask(&["add-br", name]).map(drop)
        })?;
        changed.push(format!("{name}: Open vSwitch bridge made"));
    }
    let ports = switch.ask(&["list-ports", name])?;
    for port in &settings.ports {
        if ports.lines().any(|line| *line == port.interface) {
            set_vlans(port, switch, ledger, changed)?;
        } else {
            join(port, name, survey, switch, ledger, changed)?;
        }
    }
    Ok(())
}

/// Makes a change that is noted where it is the system's, and goes with the process where it is not.
fn note(
    switch: &OpenVSwitch,
    ledger: &mut Ledger,
    change: Change,
    make: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    match switch {
        OpenVSwitch::System => ledger.step(change, make),
        OpenVSwitch::Own(_) => make(),
    }
}

fn join(
    port: &PortSettings,
    bridge: &str,
    survey: &Survey,
    switch: &OpenVSwitch,
    ledger: &mut Ledger,
    changed: &mut Vec<String>,
) -> Result<(), String> {
    let name = &port.interface;
    let master = survey.link(name).and_then(|link| link.master).and_then(|master| survey.name_of(master));
    if let Some(master) = master {
        let about = |error| explained(&format!("{name} out of {master}"), &error);
        let vlans = links::vlans_of(name).map_err(about)?.into_iter().map(Vlan::from).collect();
        let change = Change::Port { name: name.clone(), was_of: Some(master.to_owned()), vlans };
        ledger.step(change, || links::set_master(name, None).map_err(about))?;
    }
    let change = Change::OpenVSwitchPort { name: name.clone(), bridge: bridge.to_owned() };
    note(switch, ledger, change, || {
        let columns = columns_of(port);
        let mut words = vec!["--", "add-port", bridge, name];
        words.extend(columns.iter().map(String::as_str));
        words.extend(["--", "set", "port", name, "qos=@own", "--", "--id=@own", "create", "qos"]);
        let mark = mark_of(name);
        words.extend(["type=linux-noop", &mark]);
        switch.ask(&words)?;
        // ovs-vsctl calls it done where ovs-vswitchd could not do it.
        let number = switch.ask(&["get", "interface", name, "ofport"])?;
        if number.trim() == "-1" {
            let reason = switch.ask(&["get", "interface", name, "error"])?;
            return Err(format!("{name} as a port of {bridge}: {}", reason.trim().trim_matches('"')));
        }
        Ok(())
    })?;
    changed.push(format!("{name}: port of {bridge}"));
    Ok(())
}

/// Gives a port that is in the bridge already its VLANs, where it has others.
fn set_vlans(
    port: &PortSettings,
    switch: &OpenVSwitch,
    ledger: &mut Ledger,
    changed: &mut Vec<String>,
) -> Result<(), String> {
    let (name, wanted) = (&port.interface, columns_of(port));
    let mut words = vec!["get", "port", name];
    words.extend(VLAN_COLUMNS);
    let there = switch.ask(&words)?;
    let there: Vec<String> =
        VLAN_COLUMNS.iter().zip(there.lines()).map(|(column, value)| format!("{column}={value}")).collect();
    if there == wanted {
        return Ok(());
    }
    note(switch, ledger, Change::OpenVSwitchVlans { name: name.clone(), columns: there }, || {
        let mut words = vec!["set", "port", name];
        words.extend(wanted.iter().map(String::as_str));
        switch.ask(&words).map(drop)
    })?;
    changed.push(format!("{name}: {}", wanted.join(" ")));
    Ok(())
}

/// A port's VLANs as columns, in the words in which ovs-vsctl shows them.
fn columns_of(port: &PortSettings) -> Vec<String> {
    const NONE: &str = "[]";
    let native = port.vlans.iter().find(|vlan| vlan.pvid).map(|vlan| vlan.id.to_string());
    let tagged: Vec<String> =
        port.vlans.iter().filter(|vlan| !vlan.untagged).map(|vlan| vlan.id.to_string()).collect();
    let mode = match (&native, tagged.is_empty()) {
        (Some(_), false) => "native-untagged",
        (Some(_), true) => "access",
        (None, false) => "trunk",
        (None, true) => NONE,
    };
    let native = native.unwrap_or_else(|| NONE.to_owned());
    vec![format!("tag={native}"), format!("trunks=[{}]", tagged.join(", ")), format!("vlan_mode={mode}")]
}

/// What tells the QoS record of a port from others'.
fn mark_of(port: &str) -> String {
    format!("external_ids:tardy=\"{port}\"")
}

/// Takes a port out of the system's bridge, and its QoS record away, which would stay without it. What is gone is no error.
pub(super) fn leave(name: &str, bridge: &str) -> Result<(), String> {
    let system = OpenVSwitch::System;
    if system.ask(&["list-br"])?.lines().any(|line| line == bridge)
        && system.ask(&["list-ports", bridge])?.lines().any(|line| line == name)
    {
        system.ask(&["del-port", bridge, name])?;
    }
    for record in system.ask(&["--bare", "--columns=_uuid", "find", "qos", &mark_of(name)])?.lines() {
        system.ask(&["--if-exists", "destroy", "qos", record])?;
    }
    Ok(())
}

/// Gives a port of the system's its VLANs back; one that is gone is no error.
pub(super) fn put_back(name: &str, columns: &[String]) -> Result<(), String> {
    let mut words = vec!["--if-exists", "set", "port", name];
    words.extend(columns.iter().map(String::as_str));
    OpenVSwitch::System.ask(&words).map(drop)
}

/// Takes the system's bridge away; one that is gone is no error.
pub(super) fn take_away(name: &str) -> Result<(), String> {
    OpenVSwitch::System.ask(&["--if-exists", "del-br", name]).map(drop)
}

/// Whether these can be columns that a journal holds, and nothing else that ovs-vsctl understands.
pub(super) fn are_columns(columns: &[String]) -> bool {
    let sound = |(column, text): (&&str, &String)| {
        let value = text.strip_prefix(*column).and_then(|rest| rest.strip_prefix('='));
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "[], -".contains(letter);
        value.is_some_and(|value| value.chars().all(plain))
    };
    columns.len() == VLAN_COLUMNS.len() && VLAN_COLUMNS.iter().zip(columns).all(sound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_tsn::settings::PortVlan;

    fn columns(vlans: &[PortVlan]) -> String {
        let port = PortSettings { interface: "p1".to_owned(), vlans: vlans.to_vec(), taprio: None };
        let columns = columns_of(&port);
        assert!(are_columns(&columns));
        columns.join(" ")
    }

    #[test]
    fn vlans_are_columns() {
        let untagged = PortVlan { id: 1, pvid: true, untagged: true };
        let tagged = |id| PortVlan { id, pvid: false, untagged: false };
        assert_eq!(columns(&[]), "tag=[] trunks=[] vlan_mode=[]");
        assert_eq!(columns(&[untagged]), "tag=1 trunks=[] vlan_mode=access");
        assert_eq!(columns(&[tagged(5), tagged(6)]), "tag=[] trunks=[5, 6] vlan_mode=trunk");
        assert_eq!(columns(&[untagged, tagged(5)]), "tag=1 trunks=[5] vlan_mode=native-untagged");
    }

    #[test]
    fn a_journal_has_columns_and_nothing_else() {
        let with =
            |tag: &str| are_columns(&[tag.to_owned(), "trunks=[]".to_owned(), "vlan_mode=[]".to_owned()]);
        assert!(with("tag=1"));
        assert!(!with("qos=1") && !with("--") && !with("tag=1;x") && !are_columns(&[]));
    }
}
