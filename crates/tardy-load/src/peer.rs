//! The other host of a load that uses the network.

use std::net::{IpAddr, ToSocketAddrs};

/// The remark on a load whose other end is on this machine.
pub(super) const LOOPBACK_REMARK: &str = "no network-card interrupts: the data went over loopback";

/// The host that `--peer` names.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) addresses: Vec<IpAddr>,
}

impl Peer {
    /// Resolves the name to at least one address.
    pub(super) fn find(name: &str) -> Result<Self, String> {
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let found = (bare, 0).to_socket_addrs();
        let found = found.map_err(|error| format!("peer '{name}' has no address: {error}; check --peer"))?;
        let addresses: Vec<IpAddr> = found.map(|address| address.ip().to_canonical()).collect();
        if addresses.is_empty() {
            return Err(format!("peer '{name}' has no address; check --peer"));
        }
        Ok(Self { name: name.to_owned(), addresses })
    }

    /// The first of its addresses.
    pub(super) fn address(&self) -> IpAddr {
        self.addresses[0]
    }
}
