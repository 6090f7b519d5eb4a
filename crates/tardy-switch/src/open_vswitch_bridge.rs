//! Sets up an Open vSwitch bridge instead of the kernel's.
//!
//! By default ovs-vswitchd manages the queueing disciplines of its ports: when it starts, it removes every root
//! queueing discipline that it did not create, including the shaper. A QoS record of the type `linux-noop` prevents
//! that (ovs-vswitchd.conf.db(5), table QoS).

use tardy_sys::links;
use tardy_tsn::settings::{PortSettings, Settings};

use super::change::Change;
use super::change_journal::ChangeJournal;
use super::missing::explained;
use super::open_vswitch::{OpenVSwitch, VLAN_COLUMNS, mark_of};
use super::survey::Survey;
use super::vlans::Vlan;

/// Sets up the bridge and its ports as in the settings, if they differ.
pub(super) fn set_up(
    settings: &Settings,
    survey: &Survey,
    switch: &OpenVSwitch,
    changes: &mut ChangeJournal,
    changed: &mut Vec<String>,
) -> Result<(), String> {
    let name = &settings.bridge.name;
    if survey.link(name).is_none() {
        note(switch, changes, Change::OpenVSwitch { name: name.clone() }, || {
            switch.ask(&["add-br", name]).map(drop)
        })?;
        changed.push(format!("{name}: Open vSwitch bridge created"));
    }
    let ports = switch.ask(&["list-ports", name])?;
    for port in &settings.ports {
        if ports.lines().any(|line| *line == port.interface) {
            set_vlans(port, switch, changes, changed)?;
        } else {
            join(port, name, survey, switch, changes, changed)?;
        }
    }
    Ok(())
}

/// Makes a change. Changes to the system's Open vSwitch are recorded; a private instance ends with the process.
fn note(
    switch: &OpenVSwitch,
    changes: &mut ChangeJournal,
    change: Change,
    make: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    match switch {
        OpenVSwitch::System => changes.step(change, make),
        OpenVSwitch::Own(_) => make(),
    }
}

fn join(
    port: &PortSettings,
    bridge: &str,
    survey: &Survey,
    switch: &OpenVSwitch,
    changes: &mut ChangeJournal,
    changed: &mut Vec<String>,
) -> Result<(), String> {
    let name = &port.interface;
    let master = survey.link(name).and_then(|link| link.master).and_then(|master| survey.name_of(master));
    if let Some(master) = master {
        let about = |error| explained(&format!("{name} as a port of {master}"), &error);
        let vlans = links::vlans_of(name).map_err(about)?.into_iter().map(Vlan::from).collect();
        let change = Change::Port { name: name.clone(), was_of: Some(master.to_owned()), vlans };
        changes.step(change, || links::set_master(name, None).map_err(about))?;
    }
    let change = Change::OpenVSwitchPort { name: name.clone(), bridge: bridge.to_owned() };
    note(switch, changes, change, || {
        let columns = columns_of(port);
        let mut words = vec!["--", "add-port", bridge, name];
        words.extend(columns.iter().map(String::as_str));
        words.extend(["--", "set", "port", name, "qos=@own", "--", "--id=@own", "create", "qos"]);
        let mark = mark_of(name);
        words.extend(["type=linux-noop", &mark]);
        switch.ask(&words)?;
        // ovs-vsctl succeeds even if ovs-vswitchd failed.
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

/// Sets the VLANs of a port that is already in the bridge, if they differ.
fn set_vlans(
    port: &PortSettings,
    switch: &OpenVSwitch,
    changes: &mut ChangeJournal,
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
    note(switch, changes, Change::OpenVSwitchVlans { name: name.clone(), columns: there }, || {
        let mut words = vec!["set", "port", name];
        words.extend(wanted.iter().map(String::as_str));
        switch.ask(&words).map(drop)
    })?;
    changed.push(format!("{name}: {}", wanted.join(" ")));
    Ok(())
}

/// A port's VLANs as columns, in the format of ovs-vsctl's output.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open_vswitch::are_columns;
    use tardy_tsn::settings::PortVlan;

    fn columns(vlans: &[PortVlan]) -> String {
        let port = PortSettings {
            interface: "p1".to_owned(),
            vlans: vlans.to_vec(),
            taprio: None,
            children: Vec::new(),
        };
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
}
