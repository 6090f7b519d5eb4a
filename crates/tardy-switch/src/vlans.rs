//! The VLANs of a bridge's port.

use serde::{Deserialize, Serialize};
use tardy_sys::links::{self, PortVlan};
use tardy_sys::netlink::NetlinkError;

/// A VLAN of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vlan {
    /// Its number.
    pub id: u16,
    /// Whether untagged frames that arrive belong to it.
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
