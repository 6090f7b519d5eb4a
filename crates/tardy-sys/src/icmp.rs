//! Sockets for ICMP echo, with or without privileges.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{FromRawFd, OwnedFd};

/// A socket that ICMP messages can be sent from.
#[derive(Debug)]
pub struct EchoSocket {
    /// It sends and receives as a datagram socket does, once connected; ports mean nothing to it.
    pub socket: UdpSocket,
    /// Whether it is a raw socket: then what is received over IPv4 begins with the IP header, belongs to anybody, and
    /// what is sent needs its identifier and checksum.
    pub raw: bool,
}

impl EchoSocket {
    /// Opens a ping socket (icmp(7), `ping_group_range`), or where this group may not have one a raw socket.
    ///
    /// # Errors
    /// EPERM or EACCES when neither is allowed; EAFNOSUPPORT without IPv6.
    pub fn open(ipv6: bool) -> io::Result<Self> {
        let (family, protocol) =
            if ipv6 { (libc::AF_INET6, libc::IPPROTO_ICMPV6) } else { (libc::AF_INET, libc::IPPROTO_ICMP) };
        let open = |kind: libc::c_int| {
            // SAFETY: socket takes integers only.
            let fd = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the kernel just gave us this descriptor.
            Ok(UdpSocket::from(unsafe { OwnedFd::from_raw_fd(fd) }))
        };
        let ping = open(libc::SOCK_DGRAM).map(|socket| Self { socket, raw: false });
        ping.or_else(|_| open(libc::SOCK_RAW).map(|socket| Self { socket, raw: true }))
    }
}
