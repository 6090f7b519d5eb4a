//! Sockets whose packets have the kernel's software time stamps, of sending and of receiving
//! (Documentation/networking/timestamping.rst).
//!
//! A packet that is sent is stamped when it is handed to the driver, one that is received when the driver delivers it to the
//! kernel: on the usual devices that is in the soft interrupt, after the device's interrupt. Stamps are in ns of CLOCK_REALTIME.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::packet;

// include/uapi/linux/net_tstamp.h.
const TX_SOFTWARE: libc::c_int = 1 << 1;
const RX_SOFTWARE: libc::c_int = 1 << 3;
const REPORT_SOFTWARE: libc::c_int = 1 << 4;
const OPT_ID: libc::c_int = 1 << 7;
const OPT_TSONLY: libc::c_int = 1 << 11;

/// A socket.
#[derive(Debug)]
pub struct StampedSocket {
    fd: OwnedFd,
    stamps_sent: bool,
}

/// The address of a peer, as the kernel wrote it.
#[derive(Clone, Copy)]
pub struct PeerAddress {
    address: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl std::fmt::Debug for PeerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PeerAddress").field("family", &self.address.ss_family).finish_non_exhaustive()
    }
}

/// A received packet.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its length in the buffer, in bytes.
    pub length: usize,
    /// When the driver delivered it; `None` if the kernel did not stamp it.
    pub software_ns: Option<i64>,
    /// Its sender.
    pub from: PeerAddress,
}

impl StampedSocket {
    /// Enables time stamps on `socket`, a datagram or packet socket.
    ///
    /// # Errors
    /// If the kernel has no time stamps of received packets.
    pub fn of(socket: impl Into<OwnedFd>) -> io::Result<Self> {
        let fd = socket.into();
        let received = RX_SOFTWARE | REPORT_SOFTWARE;
        // The number of each sent packet and stamps without its content need Linux 3.17 and 4.1.
        let both = received | TX_SOFTWARE | OPT_ID | OPT_TSONLY;
        let stamps_sent = set(&fd, both).is_ok();
        if !stamps_sent {
            set(&fd, received)?;
        }
        Ok(Self { fd, stamps_sent })
    }

    /// Whether sent packets are stamped.
    pub fn stamps_sent(&self) -> bool {
        self.stamps_sent
    }

    /// Sends a packet to the peer that the socket is connected or bound to, without waiting.
    ///
    /// # Errors
    /// ECONNREFUSED if an earlier packet was refused; ENOBUFS and EAGAIN if a queue is full; otherwise send(2)'s.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the bytes are readable for their length.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Sends a packet to `to`, without waiting.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_to(&self, bytes: &[u8], to: &PeerAddress) -> io::Result<()> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let address: *const libc::sockaddr_storage = &raw const to.address;
        // SAFETY: the bytes and the address are readable for their lengths.
        let sent = unsafe {
            libc::sendto(
                self.fd.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                flags,
                address.cast(),
                to.length,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Reads a received packet without waiting; `None` if there is none.
    ///
    /// # Errors
    /// ECONNREFUSED if the peer refused a packet, ENETDOWN if the device went down; otherwise recvmsg(2)'s.
    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<Option<Arrival>> {
        let Some((length, stamps, from)) = self.read(bytes, 0)? else { return Ok(None) };
        Ok(Some(Arrival { length, software_ns: stamps.software_ns, from }))
    }

    /// The stamp of a sent packet, with its number, from 0; `None` if none waits.
    pub fn take_sent(&self) -> Option<(u32, i64)> {
        // Errors of the network are in the same queue, without a number.
        loop {
            let (_, stamps, _) = self.read(&mut [], libc::MSG_ERRQUEUE).ok()??;
            if let (Some(number), Some(ns)) = (stamps.number, stamps.software_ns) {
                return Some((number, ns));
            }
        }
    }

    /// Waits until a packet or a stamp has arrived, at most `timeout_ns`. Returns whether one may have.
    pub fn wait(&self, timeout_ns: u64) -> bool {
        let mut polled = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let timeout = crate::clock::timespec(timeout_ns.min(i64::MAX as u64) as i64);
        // SAFETY: one pollfd and a valid timespec; no mask is passed.
        unsafe { libc::ppoll(&raw mut polled, 1, &raw const timeout, std::ptr::null()) > 0 }
    }

    fn read(&self, bytes: &mut [u8], flags: libc::c_int) -> io::Result<Option<(usize, Stamps, PeerAddress)>> {
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut control = [0_u64; 64];
        // SAFETY: a sockaddr_storage and a msghdr of zeros are valid.
        let (mut address, mut header): (libc::sockaddr_storage, libc::msghdr) = unsafe { std::mem::zeroed() };
        header.msg_name = (&raw mut address).cast();
        header.msg_namelen = size_of_val(&address) as libc::socklen_t;
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control) as _;
        // SAFETY: the header points at the buffers above, which outlive the call.
        let length =
            unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut header, flags | libc::MSG_DONTWAIT) };
        let Ok(length) = usize::try_from(length) else {
            let error = io::Error::last_os_error();
            let none = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            return if none { Ok(None) } else { Err(error) };
        };
        let from = PeerAddress { address, length: header.msg_namelen };
        Ok(Some((length, Stamps::of(&header), from)))
    }
}

impl AsRawFd for StampedSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

fn set(fd: &OwnedFd, stamps: libc::c_int) -> io::Result<()> {
    let (value, length) = (&raw const stamps, size_of_val(&stamps) as libc::socklen_t);
    // SAFETY: the value is readable for its length.
    let status = unsafe {
        libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPING, value.cast(), length)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What the kernel adds to a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Stamps {
    software_ns: Option<i64>,
    number: Option<u32>,
}

impl Stamps {
    fn of(header: &libc::msghdr) -> Self {
        let mut stamps = Self::default();
        packet::each_ancillary(header, &mut |level, kind, data| {
            if level == libc::SOL_SOCKET && kind == libc::SO_TIMESTAMPING {
                stamps.software_ns = packet::time(data, 0);
            } else if level != libc::SOL_SOCKET {
                stamps.number = number(data).or(stamps.number);
            }
        });
        stamps
    }
}

/// The number of the packet in `struct sock_extended_err` (linux/errqueue.h), if this is about a time stamp.
fn number(data: &[u8]) -> Option<u32> {
    const ORIGIN_TIMESTAMPING: u8 = 4;
    const ORIGIN_PLACE: usize = 4;
    const DATA_PLACE: usize = 12;
    let origin = data.get(ORIGIN_PLACE)?;
    let number = data.get(DATA_PLACE..DATA_PLACE + 4)?.try_into().ok()?;
    (*origin == ORIGIN_TIMESTAMPING).then_some(u32::from_ne_bytes(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use std::net::UdpSocket;

    #[test]
    fn a_packet_is_stamped_where_it_leaves_and_where_it_arrives() {
        let (one, other) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        let (one, other) = (StampedSocket::of(one).unwrap(), StampedSocket::of(other).unwrap());
        assert!(one.stamps_sent());
        let mut bytes = [0; 8];
        // The kernel may begin to stamp a short time after it was enabled.
        for number in 0.. {
            let before_ns = Clock::Realtime.now_ns();
            one.send(b"tardy").unwrap();
            assert!(other.wait(60_000_000_000));
            let arrival = other.receive(&mut bytes).unwrap().unwrap();
            let (sent, after_ns) = (one.take_sent(), Clock::Realtime.now_ns());
            assert_eq!(arrival.length, 5);
            if let (Some(arrived_ns), Some((of, sent_ns))) = (arrival.software_ns, sent) {
                assert_eq!(of, number);
                assert!(before_ns <= sent_ns && sent_ns <= arrived_ns && arrived_ns <= after_ns);
                other.send_to(b"back", &arrival.from).unwrap();
                assert!(one.wait(60_000_000_000));
                assert_eq!(one.receive(&mut bytes).unwrap().unwrap().length, 4);
                break;
            }
        }
        assert!(one.receive(&mut bytes).unwrap().is_none());
    }

    #[test]
    fn a_refused_packet_is_an_error() {
        let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(closed).unwrap();
        let socket = StampedSocket::of(socket).unwrap();
        socket.send(b"tardy").unwrap();
        let error = loop {
            socket.wait(1_000_000_000);
            while socket.take_sent().is_some() {}
            if let Err(error) = socket.receive(&mut [0; 8]) {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
