//! The client of Open vSwitch, which calls ovs-vsctl(8).

use std::path::{Path, PathBuf};

use super::program;

/// The kernel's device that is the master of every port of every Open vSwitch bridge (datapath/dp_notify.c).
pub(super) const DATAPATH: &str = "ovs-system";
/// How long ovs-vsctl waits for ovs-vswitchd to carry out a change, in s.
const TIMEOUT: &str = "--timeout=30";
/// The VLAN settings of a port, as columns of table Port.
pub(super) const VLAN_COLUMNS: [&str; 3] = ["tag", "trunks", "vlan_mode"];

/// An instance of Open vSwitch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OpenVSwitch {
    /// The system's instance.
    #[default]
    System,
    /// A private instance with its socket in this directory. It ends with this process.
    Own(PathBuf),
}

impl OpenVSwitch {
    /// The socket of its database, for `--db`; `None` selects ovs-vsctl's default.
    pub(super) fn database(&self) -> Option<String> {
        match self {
            Self::System => None,
            Self::Own(directory) => Some(database_in(directory)),
        }
    }

    /// The output of ovs-vsctl with the arguments `words`.
    pub(super) fn ask(&self, words: &[&str]) -> Result<String, String> {
        let database = self.database().map(|socket| format!("--db={socket}"));
        let mut all = vec![TIMEOUT];
        all.extend(database.as_deref());
        all.extend(words);
        program::output("ovs-vsctl", &all, "").map_err(|reason| {
            if reason.contains("database connection failed") {
                return format!(
                    "{reason}\nOpen vSwitch is not running; on Debian 'systemctl start openvswitch-switch' starts it"
                );
            }
            reason
        })
    }

    /// Waits until ovs-vswitchd has noticed that `port` is up; before that it forwards nothing to the port.
    ///
    /// # Errors
    /// A message for the user, after 30 s.
    pub(super) fn wait_for(&self, port: &str) -> Result<(), String> {
        self.ask(&["wait-until", "interface", port, "link_state=up"]).map(drop)
    }

    /// The bridge that `port` is in.
    ///
    /// # Errors
    /// A message for the user, if ovs-vsctl fails.
    pub(super) fn bridge_of(&self, port: &str) -> Result<String, String> {
        Ok(self.ask(&["iface-to-br", port])?.trim().to_owned())
    }
}

/// The socket of the database of an Open vSwitch whose files are in `directory`.
pub(super) fn database_in(directory: &Path) -> String {
    format!("unix:{}", directory.join("db.sock").display())
}

/// The external ID that identifies the QoS record of a port.
pub(super) fn mark_of(port: &str) -> String {
    format!("external_ids:tardy=\"{port}\"")
}

/// Removes a port from the system's bridge, and the port's QoS record, which del-port leaves behind. It is not an error
/// if they are gone.
pub(super) fn remove_port(name: &str, bridge: &str) -> Result<(), String> {
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

/// Restores the VLANs of a port of the system's Open vSwitch. It is not an error if the port is gone.
pub(super) fn restore_vlans(name: &str, columns: &[String]) -> Result<(), String> {
    let mut words = vec!["--if-exists", "set", "port", name];
    words.extend(columns.iter().map(String::as_str));
    OpenVSwitch::System.ask(&words).map(drop)
}

/// Removes a bridge of the system's Open vSwitch. It is not an error if it is gone.
pub(super) fn remove_bridge(name: &str) -> Result<(), String> {
    OpenVSwitch::System.ask(&["--if-exists", "del-br", name]).map(drop)
}

/// Whether these are the VLAN columns with plain values, without characters that ovs-vsctl would interpret.
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

    #[test]
    fn a_journal_may_contain_columns_and_nothing_else() {
        let with =
            |tag: &str| are_columns(&[tag.to_owned(), "trunks=[]".to_owned(), "vlan_mode=[]".to_owned()]);
        assert!(with("tag=1"));
        assert!(!with("qos=1") && !with("--") && !with("tag=1;x") && !are_columns(&[]));
    }
}
