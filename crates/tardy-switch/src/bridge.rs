//! The bridge, its ports and their VLANs.

use tardy_sys::links::{self, BridgeOptions};
use tardy_tsn::network::Bridge;
use tardy_tsn::settings::{PortSettings, Settings};

use super::change::Change;
use super::change_journal::ChangeJournal;
use super::missing::explained;
use super::open_vswitch::OpenVSwitch;
use super::open_vswitch_bridge;
use super::survey::Survey;
use super::vlans::{Vlan, set_vlans};

/// Sets up the bridge and its ports as in the settings, if they differ. Returns the changes, for messages.
pub(super) fn set_up(
    settings: &Settings,
    survey: &Survey,
    switch: &OpenVSwitch,
    changes: &mut ChangeJournal,
) -> Result<Vec<String>, String> {
    let mut changed = Vec::new();
    match settings.bridge.kind {
        Bridge::Kernel => kernels_bridge(settings, survey, changes, &mut changed)?,
        Bridge::OpenVSwitch => open_vswitch_bridge::set_up(settings, survey, switch, changes, &mut changed)?,
    }
    for name in
        std::iter::once(&settings.bridge.name).chain(settings.ports.iter().map(|port| &port.interface))
    {
        let is_up = links::find(name).ok().flatten().is_some_and(|link| link.is_up);
        if !is_up {
            changes.step(Change::Up { name: name.clone() }, || {
                links::set_up(name).map_err(|error| explained(&format!("{name}, brought up"), &error))
            })?;
            changed.push(format!("{name}: brought up"));
        }
    }
    Ok(changed)
}

fn kernels_bridge(
    settings: &Settings,
    survey: &Survey,
    changes: &mut ChangeJournal,
    changed: &mut Vec<String>,
) -> Result<(), String> {
    let (name, filters) = (&settings.bridge.name, settings.bridge.vlan_filtering);
    match survey.link(name) {
        None => {
            let options = BridgeOptions { vlan_filtering: filters, default_pvid: 0 };
            changes.step(Change::Bridge { name: name.clone() }, || {
                links::make_bridge(name, options)
                    .map_err(|error| explained(&format!("bridge {name}"), &error))
            })?;
            changed.push(format!("{name}: bridge created"));
        }
        Some(link) => {
            let was = link.bridge.is_some_and(|bridge| bridge.vlan_filtering);
            if was != filters {
                changes.step(Change::Filtering { name: name.clone(), was }, || {
                    links::set_vlan_filtering(name, filters)
                        .map_err(|error| explained(&format!("VLAN filtering of {name}"), &error))
                })?;
                changed.push(format!("{name}: VLAN filtering {}", if filters { "on" } else { "off" }));
            }
        }
    }
    for port in &settings.ports {
        join(port, settings, survey, changes, changed)?;
    }
    Ok(())
}

fn join(
    port: &PortSettings,
    settings: &Settings,
    survey: &Survey,
    changes: &mut ChangeJournal,
    changed: &mut Vec<String>,
) -> Result<(), String> {
    let (name, bridge) = (&port.interface, &settings.bridge.name);
    let was_of = survey.link(name).and_then(|link| link.master).and_then(|master| survey.name_of(master));
    if was_of != Some(bridge.as_str()) {
        let vlans = if was_of.is_some() { vlans_of(name)? } else { Vec::new() };
        let change = Change::Port { name: name.clone(), was_of: was_of.map(str::to_owned), vlans };
        changes.step(change, || {
            // A port must leave its bridge before it can join another.
            let leave = if was_of.is_some() { links::set_master(name, None) } else { Ok(()) };
            leave
                .and_then(|()| links::set_master(name, Some(bridge)))
                .map_err(|error| explained(&format!("{name} as a port of {bridge}"), &error))
        })?;
        changed.push(format!("{name}: port of {bridge}"));
    }
    if !settings.bridge.vlan_filtering {
        return Ok(());
    }
    let wanted: Vec<Vlan> = port
        .vlans
        .iter()
        .map(|vlan| Vlan { id: vlan.id, pvid: vlan.pvid, untagged: vlan.untagged })
        .collect();
    let there = vlans_of(name)?;
    if there != wanted {
        changes.step(Change::Vlans { name: name.clone(), vlans: there }, || set_vlans(name, &wanted))?;
        let ids: Vec<String> = wanted.iter().map(|vlan| vlan.id.to_string()).collect();
        changed.push(format!(
            "{name}: VLANs {}",
            if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
        ));
    }
    Ok(())
}

fn vlans_of(name: &str) -> Result<Vec<Vlan>, String> {
    let vlans = links::vlans_of(name).map_err(|error| explained(&format!("VLANs of {name}"), &error))?;
    Ok(vlans.into_iter().map(Vlan::from).collect())
}
