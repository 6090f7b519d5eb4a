//! Sockets for ICMP echo, with or without privileges.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{FromRawFd, OwnedFd};

/// A socket for ICMP messages.
#[derive(Debug)]
pub struct EchoSocket {
    /// It sends and receives like a datagram socket once connected; ports have no meaning.
    pub socket: UdpSocket,
    /// Whether it is a raw socket. Then received IPv4 messages start with the IP header and include those of other
    /// programs, and sent messages need an identifier and a checksum.
    pub raw: bool,
}

impl EchoSocket {
    /// Opens a ping socket (icmp(7), `ping_group_range`), or a raw socket if this group may not open one.
    ///
    /// # Errors
    /// EPERM or EACCES if neither is permitted; EAFNOSUPPORT without IPv6.
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
