//! The properties of a link.

use std::io;

use super::{
    BRIDGE_VLAN_INFO_PVID, BRIDGE_VLAN_INFO_UNTAGGED, IFLA_BR_VLAN_DEFAULT_PVID, IFLA_BR_VLAN_FILTERING,
    IFLA_BRIDGE_VLAN_INFO, IFLA_INFO_DATA, IFLA_INFO_KIND, link,
};
use crate::netlink::{Message, NetlinkError, Request, RouteSocket};

/// `struct ifinfomsg`.
const FIXED_BYTES: usize = 16;

/// A link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkInfo {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// The kind of a virtual link, such as `veth`; `None` for a real device.
    pub kind: Option<String>,
    /// Its hardware address.
    pub address: Vec<u8>,
    /// The index of the bridge that it is a port of.
    pub master: Option<u32>,
    /// Whether it is administratively up.
    pub is_up: bool,
    /// Whether it has a carrier.
    pub has_carrier: bool,
    /// Its MTU, in bytes without the Ethernet header.
    pub mtu: u32,
    /// The largest MTU that can be set; 0 if it is unknown.
    pub mtu_max: u32,
    /// Its number of transmit queues; a device may use fewer.
    pub tx_queues: u32,
    /// The most frames that wait in each queue (ip-link(8), txqueuelen).
    pub queue_length: u32,
    /// The number of changes of its carrier.
    pub carrier_changes: u32,
    /// Whether it is a bridge's port in the forwarding state, which begins some time after its carrier is up.
    pub forwards: bool,
    /// The settings of a bridge.
    pub bridge: Option<BridgeInfo>,
}

/// The settings of a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeInfo {
    /// Whether frames of VLANs that a port is not a member of are dropped.
    pub vlan_filtering: bool,
    /// The VLAN of untagged frames of new ports; 0: none.
    pub default_pvid: u16,
}

/// A VLAN that a port is a member of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortVlan {
    /// The VLAN id, 1 to 4094.
    pub id: u16,
    /// Whether untagged frames belong to it.
    pub pvid: bool,
    /// Whether its frames leave without a tag.
    pub untagged: bool,
}

/// The link `name`; `None` if there is none.
///
/// # Errors
/// The kernel's.
pub fn find(name: &str) -> Result<Option<LinkInfo>, NetlinkError> {
    Ok(all()?.into_iter().find(|link| link.name == name))
}

/// All links of the namespace.
///
/// # Errors
/// The kernel's.
pub fn all() -> Result<Vec<LinkInfo>, NetlinkError> {
    let request = Request::new(libc::RTM_GETLINK, libc::NLM_F_DUMP as u16, &link(0, 0, 0));
    Ok(RouteSocket::open()?.dump(&request)?.iter().filter_map(read).collect())
}

/// The link in a message of [`crate::netlink::Monitor`], with its new properties, and whether it is gone. Messages of
/// a bridge about its port are skipped (AF_BRIDGE): when a port leaves, the bridge reports it as deleted although the
/// link remains.
pub fn changed_link(news: &Message) -> Option<(LinkInfo, bool)> {
    match news.kind {
        _ if news.body.first().is_some_and(|family| i32::from(*family) == libc::AF_BRIDGE) => None,
        libc::RTM_NEWLINK => Some((read(news)?, false)),
        libc::RTM_DELLINK => Some((read(news)?, true)),
        _ => None,
    }
}

/// The VLANs that the port `name` is a member of.
///
/// # Errors
/// ENODEV if there is no such link.
pub fn vlans_of(name: &str) -> Result<Vec<PortVlan>, NetlinkError> {
    const WITH_VLANS: u32 = 1 << 1;
    let index = super::index_of(name)?;
    let mut fixed = link(0, 0, 0);
    fixed[0] = libc::AF_BRIDGE as u8;
    let mut request = Request::new(libc::RTM_GETLINK, libc::NLM_F_DUMP as u16, &fixed);
    request.attribute(libc::IFLA_EXT_MASK, &WITH_VLANS.to_ne_bytes());
    let messages = RouteSocket::open()?.dump(&request)?;
    Ok(messages
        .iter()
        .find(|message| message.number_at(4) == Some(index))
        .map(read_vlans)
        .unwrap_or_default())
}

/// The VLANs in a bridge's message about its port; none if it has no list of them.
pub fn read_vlans(port: &Message) -> Vec<PortVlan> {
    let Some(spec) = port.attributes(FIXED_BYTES).find(libc::IFLA_AF_SPEC) else { return Vec::new() };
    let vlans = spec.inner().filter(|one| one.kind == IFLA_BRIDGE_VLAN_INFO && one.value.len() >= 4);
    let vlan = |value: &[u8]| {
        let flags = u16::from_ne_bytes([value[0], value[1]]);
        PortVlan {
            id: u16::from_ne_bytes([value[2], value[3]]),
            pvid: flags & BRIDGE_VLAN_INFO_PVID != 0,
            untagged: flags & BRIDGE_VLAN_INFO_UNTAGGED != 0,
        }
    };
    vlans.map(|one| vlan(one.value)).collect()
}

fn read(message: &Message) -> Option<LinkInfo> {
    let attributes = message.attributes(FIXED_BYTES);
    let number = |kind: u16| attributes.number(kind).unwrap_or(0) as u32;
    let info = attributes.find(libc::IFLA_LINKINFO);
    let kind = info.and_then(|info| info.inner().find(IFLA_INFO_KIND)).map(|kind| kind.text());
    let data = info.and_then(|info| info.inner().find(IFLA_INFO_DATA));
    let bridge = data.filter(|_| kind.as_deref() == Some("bridge")).map(|data| BridgeInfo {
        vlan_filtering: data.inner().number(IFLA_BR_VLAN_FILTERING) == Some(1),
        default_pvid: data.inner().number(IFLA_BR_VLAN_DEFAULT_PVID).unwrap_or(0) as u16,
    });
    let port = info.and_then(|info| info.inner().find(IFLA_INFO_SLAVE_DATA));
    let port_state = port.and_then(|port| port.inner().number(IFLA_BRPORT_STATE));
    let flags = message.number_at(8)?;
    /// include/uapi/linux/if_link.h.
    const IFLA_CARRIER_CHANGES: u16 = 35;
    const IFLA_MAX_MTU: u16 = 51;
    const IFLA_INFO_SLAVE_DATA: u16 = 5;
    const IFLA_BRPORT_STATE: u16 = 1;
    /// include/uapi/linux/if_bridge.h.
    const BR_STATE_FORWARDING: u64 = 3;
    Some(LinkInfo {
        index: message.number_at(4)?,
        name: attributes.find(libc::IFLA_IFNAME)?.text(),
        kind,
        address: attributes.find(libc::IFLA_ADDRESS).map(|one| one.value.to_vec()).unwrap_or_default(),
        master: attributes.number(libc::IFLA_MASTER).map(|master| master as u32).filter(|one| *one != 0),
        is_up: flags & libc::IFF_UP as u32 != 0,
        has_carrier: attributes.number(libc::IFLA_CARRIER) == Some(1),
        mtu: number(libc::IFLA_MTU),
        mtu_max: number(IFLA_MAX_MTU),
        tx_queues: number(libc::IFLA_NUM_TX_QUEUES),
        queue_length: number(libc::IFLA_TXQLEN),
        carrier_changes: number(IFLA_CARRIER_CHANGES),
        forwards: port_state == Some(BR_STATE_FORWARDING),
        bridge,
    })
}

impl LinkInfo {
    /// The number of its transmit queues in use, if it is in the namespace that /sys was mounted in.
    ///
    /// # Errors
    /// If /sys has no such device.
    pub fn real_tx_queues(&self) -> io::Result<u32> {
        let names = std::fs::read_dir(format!("/sys/class/net/{}/queues", self.name))?;
        Ok(names.flatten().filter(|name| name.file_name().to_string_lossy().starts_with("tx-")).count()
            as u32)
    }
}
