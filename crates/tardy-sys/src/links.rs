//! Links of the calling thread's network namespace: creates virtual ones, bridges and their VLANs, and changes them
//! (ip-link(8), bridge(8)).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::netlink::{NetlinkError, Request, RouteSocket};

mod ethtool;
mod hardware_stamps;
mod info;
mod steering;
mod tap;

pub use ethtool::{Coalescing, coalescing, is_energy_efficient, set_speed_mbps, speed_mbps};
pub use hardware_stamps::{
    DeviceClock, StampConfig, clock_of_stamps, has_clock, set_stamp_config, stamp_config,
};
pub use info::{BridgeInfo, LinkInfo, PortVlan, all, changed_link, find, read_vlans, vlans_of};
pub use steering::QueueRange;
pub use tap::Tap;

// include/uapi/linux/if_link.h, veth.h and if_bridge.h.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;
const IFLA_BR_VLAN_FILTERING: u16 = 7;
const IFLA_BR_NF_CALL_IPTABLES: u16 = 36;
const IFLA_BR_VLAN_DEFAULT_PVID: u16 = 39;
const IFLA_BRIDGE_VLAN_INFO: u16 = 2;
const BRIDGE_VLAN_INFO_PVID: u16 = 1 << 1;
const BRIDGE_VLAN_INFO_UNTAGGED: u16 = 1 << 2;
const CREATE: u16 = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;

/// The settings of a new bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeOptions {
    /// Whether frames of VLANs that a port is not a member of are dropped.
    pub vlan_filtering: bool,
    /// The VLAN of untagged frames of new ports; 0: none.
    pub default_pvid: u16,
}

/// Creates a veth pair: `name` here and `peer_name` in the namespace `peer`, or here too. Both are down. Each has
/// `queues` transmit and receive queues; by default one for each CPU, of which only one is used.
///
/// # Errors
/// EOPNOTSUPP if the veth module is not loaded, EEXIST if a name is in use, EPERM without CAP_NET_ADMIN.
pub fn make_veth(
    name: &str,
    peer_name: &str,
    peer: Option<&File>,
    queues: Option<u32>,
) -> Result<(), NetlinkError> {
    make_veth_with_indices(name, peer_name, peer, queues, None)
}

/// The same, with interface indices for both ends that are free in their namespaces.
///
/// # Errors
/// As [`make_veth`], and EBUSY if an index is in use.
pub fn make_veth_with_indices(
    name: &str,
    peer_name: &str,
    peer: Option<&File>,
    queues: Option<u32>,
    indices: Option<[u32; 2]>,
) -> Result<(), NetlinkError> {
    // With 0 the kernel chooses.
    let [index, peer_index] = indices.unwrap_or_default();
    let set_queues = |request: &mut Request| {
        if let Some(queues) = queues {
            request.attribute(libc::IFLA_NUM_TX_QUEUES, &queues.to_ne_bytes());
            request.attribute(libc::IFLA_NUM_RX_QUEUES, &queues.to_ne_bytes());
        }
    };
    let mut request = Request::new(libc::RTM_NEWLINK, CREATE, &link(index, 0, 0));
    request.text(libc::IFLA_IFNAME, name);
    set_queues(&mut request);
    request.nest(libc::IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "veth").nest(IFLA_INFO_DATA, |data| {
            data.nest(VETH_INFO_PEER, |other| {
                other.raw(&link(peer_index, 0, 0)).text(libc::IFLA_IFNAME, peer_name);
                set_queues(other);
                if let Some(peer) = peer {
                    other.attribute(libc::IFLA_NET_NS_FD, &peer.as_raw_fd().to_ne_bytes());
                }
            });
        });
    });
    RouteSocket::open()?.ask(&request)
}

/// Creates a bridge without multicast snooping: multicast frames go to every port, as in the standard's switch by
/// default.
///
/// # Errors
/// EOPNOTSUPP if the bridge module is not loaded, EEXIST if the name is in use, EPERM without CAP_NET_ADMIN.
pub fn make_bridge(name: &str, options: BridgeOptions) -> Result<(), NetlinkError> {
    let mut request = Request::new(libc::RTM_NEWLINK, CREATE, &link(0, 0, 0));
    request.text(libc::IFLA_IFNAME, name).nest(libc::IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "bridge").nest(IFLA_INFO_DATA, |data| {
            data.attribute(IFLA_BR_MCAST_SNOOPING, &[0]);
            // A kernel without CONFIG_BRIDGE_VLAN_FILTERING refuses the attribute even if it is 0.
            if options.vlan_filtering {
                data.attribute(IFLA_BR_VLAN_FILTERING, &[1]);
                data.attribute(IFLA_BR_VLAN_DEFAULT_PVID, &options.default_pvid.to_ne_bytes());
            }
        });
    });
    RouteSocket::open()?.ask(&request)
}

/// Enables or disables VLAN filtering of a bridge.
///
/// # Errors
/// EOPNOTSUPP if the kernel's bridge has no VLAN filtering (CONFIG_BRIDGE_VLAN_FILTERING).
pub fn set_vlan_filtering(name: &str, on: bool) -> Result<(), NetlinkError> {
    let mut request = Request::new(libc::RTM_NEWLINK, 0, &link(index_of(name)?, 0, 0));
    request.nest(libc::IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "bridge").nest(IFLA_INFO_DATA, |data| {
            data.attribute(IFLA_BR_VLAN_FILTERING, &[u8::from(on)]);
        });
    });
    RouteSocket::open()?.ask(&request)
}

/// Enables or disables iptables for the frames of a bridge (needs the br_netfilter module).
///
/// # Errors
/// EOPNOTSUPP without br_netfilter.
pub fn set_bridge_calls_iptables(name: &str, on: bool) -> Result<(), NetlinkError> {
    let mut request = Request::new(libc::RTM_NEWLINK, 0, &link(index_of(name)?, 0, 0));
    request.nest(libc::IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "bridge").nest(IFLA_INFO_DATA, |data| {
            data.attribute(IFLA_BR_NF_CALL_IPTABLES, &[u8::from(on)]);
        });
    });
    RouteSocket::open()?.ask(&request)
}

/// Makes `name` a port of the bridge `master`, or of none.
///
/// # Errors
/// EBUSY if it already is a port of another bridge, ELOOP for a bridge of a bridge, EPERM without CAP_NET_ADMIN.
pub fn set_master(name: &str, master: Option<&str>) -> Result<(), NetlinkError> {
    let master = master.map_or(Ok(0), index_of)?;
    let mut request = Request::new(libc::RTM_NEWLINK, 0, &link(index_of(name)?, 0, 0));
    request.attribute(libc::IFLA_MASTER, &master.to_ne_bytes());
    RouteSocket::open()?.ask(&request)
}

/// Makes the port `name` a member of a VLAN.
///
/// # Errors
/// EINVAL for a VLAN outside 1 to 4094, EOPNOTSUPP if it is not a port of a bridge.
pub fn add_vlan(name: &str, vlan: PortVlan) -> Result<(), NetlinkError> {
    change_vlan(libc::RTM_SETLINK, name, vlan)
}

/// Removes the port `name` from a VLAN, if it is a member.
///
/// # Errors
/// EOPNOTSUPP if it is not a port of a bridge.
pub fn delete_vlan(name: &str, id: u16) -> Result<(), NetlinkError> {
    change_vlan(libc::RTM_DELLINK, name, PortVlan { id, pvid: false, untagged: false })
}

fn change_vlan(kind: u16, name: &str, vlan: PortVlan) -> Result<(), NetlinkError> {
    let mut flags = 0;
    flags |= if vlan.pvid { BRIDGE_VLAN_INFO_PVID } else { 0 };
    flags |= if vlan.untagged { BRIDGE_VLAN_INFO_UNTAGGED } else { 0 };
    let mut fixed = link(index_of(name)?, 0, 0);
    fixed[0] = libc::AF_BRIDGE as u8;
    let mut request = Request::new(kind, 0, &fixed);
    request.nest(libc::IFLA_AF_SPEC, |spec| {
        spec.attribute(IFLA_BRIDGE_VLAN_INFO, &[flags.to_ne_bytes(), vlan.id.to_ne_bytes()].concat());
    });
    RouteSocket::open()?.ask(&request)
}

/// Sets a link up.
///
/// # Errors
/// ENODEV if there is no such link, EPERM without CAP_NET_ADMIN.
pub fn set_up(name: &str) -> Result<(), NetlinkError> {
    set_flags(name, libc::IFF_UP as u32, libc::IFF_UP as u32)
}

/// Sets a link down.
///
/// # Errors
/// ENODEV if there is no such link, EPERM without CAP_NET_ADMIN.
pub fn set_down(name: &str) -> Result<(), NetlinkError> {
    set_flags(name, 0, libc::IFF_UP as u32)
}

fn set_flags(name: &str, flags: u32, change: u32) -> Result<(), NetlinkError> {
    RouteSocket::open()?.ask(&Request::new(libc::RTM_NEWLINK, 0, &link(index_of(name)?, flags, change)))
}

/// Sets the MTU of a link, in bytes without the Ethernet header.
///
/// # Errors
/// EINVAL beyond the device's limit.
pub fn set_mtu(name: &str, mtu: u32) -> Result<(), NetlinkError> {
    let mut request = Request::new(libc::RTM_NEWLINK, 0, &link(index_of(name)?, 0, 0));
    request.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes());
    RouteSocket::open()?.ask(&request)
}

/// Sets a link's hardware address.
///
/// # Errors
/// EADDRNOTAVAIL for a multicast address.
pub fn set_address(name: &str, address: [u8; 6]) -> Result<(), NetlinkError> {
    let mut request = Request::new(libc::RTM_NEWLINK, 0, &link(index_of(name)?, 0, 0));
    request.attribute(libc::IFLA_ADDRESS, &address);
    RouteSocket::open()?.ask(&request)
}

/// Deletes a virtual link; deleting one end of a veth pair deletes the other.
///
/// # Errors
/// EOPNOTSUPP for a real device, ENODEV if there is no such link.
pub fn delete(name: &str) -> Result<(), NetlinkError> {
    RouteSocket::open()?.ask(&Request::new(libc::RTM_DELLINK, 0, &link(index_of(name)?, 0, 0)))
}

/// A link's index in its namespace.
///
/// # Errors
/// ENODEV if there is no such link.
pub fn index_of(name: &str) -> io::Result<u32> {
    let name = std::ffi::CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the name is a valid C string.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// `struct ifinfomsg`, with the flags in `change` set as in `flags`.
fn link(index: u32, flags: u32, change: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..16].copy_from_slice(&change.to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests;
