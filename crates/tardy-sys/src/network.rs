//! Links and addresses of the calling thread's network namespace, and a namespace of its own.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use crate::netlink::{NetlinkError, Request, RouteSocket};

// include/uapi/linux/if_link.h and veth.h.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

/// Moves the calling thread, and what it starts from now on, into a new network namespace with nothing in it but a
/// loopback device that is down. Returns what names the namespace to others.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN; EINVAL where the kernel has no network namespaces (CONFIG_NET_NS).
pub fn enter_new_namespace() -> io::Result<File> {
    // SAFETY: unshare(2) takes flags only.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    File::open("/proc/thread-self/ns/net")
}

/// Makes a veth pair: `name` here and `peer_name` in the namespace `peer`. Both are down.
///
/// # Errors
/// EOPNOTSUPP where the veth module is not loaded, EEXIST when a name is taken, EPERM without CAP_NET_ADMIN.
pub fn make_veth(name: &str, peer_name: &str, peer: &File) -> Result<(), NetlinkError> {
    let create = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
    let mut request = Request::new(libc::RTM_NEWLINK, create, &link(0, 0));
    request.text(libc::IFLA_IFNAME, name).nest(libc::IFLA_LINKINFO, |info| {
        info.text(IFLA_INFO_KIND, "veth").nest(IFLA_INFO_DATA, |data| {
            data.nest(VETH_INFO_PEER, |other| {
                other.raw(&link(0, 0)).text(libc::IFLA_IFNAME, peer_name);
                other.attribute(libc::IFLA_NET_NS_FD, &peer.as_raw_fd().to_ne_bytes());
            });
        });
    });
    RouteSocket::open()?.ask(&request)
}

/// Sets a link up.
///
/// # Errors
/// ENODEV when there is none of that name, EPERM without CAP_NET_ADMIN.
pub fn set_up(name: &str) -> Result<(), NetlinkError> {
    let request = Request::new(libc::RTM_NEWLINK, 0, &link(index_of(name)?, libc::IFF_UP as u32));
    RouteSocket::open()?.ask(&request)
}

/// Gives a link an IPv4 address with so many bits of network.
///
/// # Errors
/// EEXIST when it has that address already, EPERM without CAP_NET_ADMIN.
pub fn add_address(name: &str, address: Ipv4Addr, prefix_bits: u8) -> Result<(), NetlinkError> {
    // struct ifaddrmsg: family, prefix length, flags, scope, index.
    let mut fixed = vec![libc::AF_INET as u8, prefix_bits, 0, 0];
    fixed.extend_from_slice(&index_of(name)?.to_ne_bytes());
    let create = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
    let mut request = Request::new(libc::RTM_NEWADDR, create, &fixed);
    request.attribute(libc::IFA_LOCAL, &address.octets()).attribute(libc::IFA_ADDRESS, &address.octets());
    RouteSocket::open()?.ask(&request)
}

/// `struct ifinfomsg`, of which only the flags given are to change.
fn link(index: u32, flags: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..16].copy_from_slice(&flags.to_ne_bytes());
    bytes
}

fn index_of(name: &str) -> io::Result<u32> {
    let name = std::ffi::CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the name is a valid C string.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Two threads in namespaces of their own, a link between them, and a packet over it.
    #[test]
    fn a_packet_crosses_a_link_between_two_namespaces() {
        let (namespace, there) = mpsc::channel();
        let (go, ready) = mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            let entered = enter_new_namespace();
            let failed = entered.is_err();
            namespace.send(entered).unwrap();
            if failed || ready.recv().is_err() {
                return;
            }
            set_up("there").unwrap();
            add_address("there", Ipv4Addr::new(10, 83, 0, 2), 24).unwrap();
            let socket = std::net::UdpSocket::bind("10.83.0.2:7000").unwrap();
            let mut bytes = [0; 5];
            let (_, from) = socket.recv_from(&mut bytes).unwrap();
            socket.send_to(&bytes, from).unwrap();
        });
        let here = std::thread::spawn(move || {
            let peer = match (enter_new_namespace(), there.recv().unwrap()) {
                (Ok(_), Ok(peer)) => peer,
                (Err(error), _) | (_, Err(error)) => {
                    return eprintln!("skipped: no network namespace for this user: {error}");
                }
            };
            if let Err(error) = make_veth("here", "there", &peer) {
                return eprintln!("skipped: this kernel makes no veth: {error}");
            }
            go.send(()).unwrap();
            set_up("here").unwrap();
            add_address("here", Ipv4Addr::new(10, 83, 0, 1), 24).unwrap();
            let socket = std::net::UdpSocket::bind("10.83.0.1:0").unwrap();
            socket.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
            let mut bytes = [0; 5];
            while socket.recv(&mut bytes).is_err() {
                // Until the other side listens.
                socket.send_to(b"tardy", "10.83.0.2:7000").unwrap();
            }
            assert_eq!(&bytes, b"tardy");
        });
        here.join().unwrap();
        other.join().unwrap();
    }
}
