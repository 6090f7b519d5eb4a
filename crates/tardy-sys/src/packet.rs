//! Raw Ethernet frames of a network device, with timestamps of the kernel or the device (packet(7),
//! Documentation/networking/timestamping.rst).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::clock::Clock;
use crate::links;

mod ancillary;

use ancillary::Ancillary;
pub(crate) use ancillary::{each as each_ancillary, time};

// include/uapi/linux/if_packet.h and net_tstamp.h.
const PACKET_AUXDATA: libc::c_int = 8;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
const RX_HARDWARE: libc::c_int = 1 << 2;
const RX_SOFTWARE: libc::c_int = 1 << 3;
const REPORT_SOFTWARE: libc::c_int = 1 << 4;
const REPORT_HARDWARE: libc::c_int = 1 << 6;

/// A socket for the frames of one device.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
}

/// A received frame, without its VLAN tag, which the kernel removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Length of the frame in the buffer, in bytes.
    pub length: usize,
    /// Its original length, if it was truncated.
    pub whole_length: usize,
    /// The control information of its VLAN tag: priority in the upper three bits, VLAN in the lower twelve.
    pub vlan_tci: Option<u16>,
    /// When the driver delivered it to the kernel, in ns of CLOCK_REALTIME.
    pub software_ns: Option<i64>,
    /// When the device received it, in ns of the device's clock.
    pub hardware_ns: Option<i64>,
}

impl PacketSocket {
    /// A socket that only sends, through the device `name` of the calling thread's namespace.
    ///
    /// # Errors
    /// EPERM without CAP_NET_RAW, ENODEV if there is no such device.
    pub fn sender(name: &str) -> io::Result<Self> {
        Self::open(name, 0)
    }

    /// A socket that receives frames of the device `name`, with timestamps, and a receive buffer of `buffer_bytes`.
    ///
    /// # Errors
    /// EPERM without CAP_NET_RAW, ENODEV if there is no such device.
    pub fn receiver(name: &str, buffer_bytes: usize) -> io::Result<Self> {
        let socket = Self::open(name, libc::ETH_P_ALL as u16)?;
        socket.set(libc::SOL_PACKET, PACKET_AUXDATA, 1)?;
        // Before Linux 4.20 the option does not exist; frames sent by this host are then recognised by their
        // addresses.
        let _ = socket.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
        let stamps = RX_HARDWARE | RX_SOFTWARE | REPORT_SOFTWARE | REPORT_HARDWARE;
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, stamps)?;
        let bytes = libc::c_int::try_from(buffer_bytes).unwrap_or(libc::c_int::MAX);
        socket
            .set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)
            .or_else(|_| socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, bytes))?;
        Ok(socket)
    }

    /// A socket that sends frames through the device `name`, and receives those of this ethertype.
    ///
    /// # Errors
    /// EPERM without CAP_NET_RAW, ENODEV if there is no such device.
    pub fn of_protocol(name: &str, ethertype: u16) -> io::Result<Self> {
        Self::open(name, ethertype)
    }

    fn open(name: &str, protocol: u16) -> io::Result<Self> {
        let index = links::index_of(name)?;
        // No protocol at first, because frames of every device would arrive before bind(2). SAFETY: socket(2) takes
        // integers only.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: a sockaddr_ll of zeros is valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = index.cast_signed();
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is valid for its length.
        if unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { fd })
    }

    /// Sets the priority of sent frames (socket(7), SO_PRIORITY).
    ///
    /// # Errors
    /// EPERM above 6 without CAP_NET_ADMIN.
    pub fn set_priority(&self, priority: u32) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_PRIORITY, priority.cast_signed())
    }

    /// Sets the size of the send buffer in bytes.
    ///
    /// # Errors
    /// setsockopt(2)'s.
    pub fn set_send_buffer(&self, bytes: usize) -> io::Result<()> {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, bytes)
    }

    /// Enables transmit times on `clock`; [`Self::send_at`] then sets one for each frame (SO_TXTIME, tc-etf(8)).
    ///
    /// # Errors
    /// EPERM without CAP_NET_ADMIN, EINVAL for a clock that the kernel does not support.
    pub fn enable_transmit_time(&self, clock: Clock) -> io::Result<()> {
        // struct sock_txtime of include/uapi/linux/net_tstamp.h: clock, flags.
        let setting: [libc::c_int; 2] = [clock.id(), 0];
        self.set_bytes(libc::SOL_SOCKET, libc::SO_TXTIME, &setting)
    }

    /// Sends a frame; waits while the send buffer is full.
    ///
    /// # Errors
    /// ENETDOWN if the device is down, ENOBUFS if its queue is full, EMSGSIZE if the frame is too long.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: the frame is readable for its length.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Sends a frame at `at_ns` on the clock of [`Self::enable_transmit_time`].
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_at(&self, frame: &[u8], at_ns: u64) -> io::Result<()> {
        let mut part = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
        let mut ancillary = Ancillary::transmit_time(at_ns);
        let header = ancillary.header(&mut part);
        // SAFETY: the header points at the frame, which is only read, and at the ancillary data; both outlive the call.
        let sent = unsafe { libc::sendmsg(self.fd.as_raw_fd(), &raw const header, 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Reads a received frame without waiting; `None` if there is none.
    ///
    /// # Errors
    /// ENETDOWN if the device went down; otherwise recvmsg(2)'s.
    pub fn receive(&self, frame: &mut [u8]) -> io::Result<Option<Received>> {
        let mut part = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
        let mut ancillary = Ancillary::room();
        let mut header = ancillary.header(&mut part);
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the header points at the buffer and at room for ancillary data; both outlive the call.
        let length = unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut header, flags) };
        let Ok(whole_length) = usize::try_from(length) else {
            let error = io::Error::last_os_error();
            let none = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            return if none { Ok(None) } else { Err(error) };
        };
        let mut received =
            Received { length: whole_length.min(frame.len()), whole_length, ..Received::default() };
        ancillary::read(&header, &mut received);
        Ok(Some(received))
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        self.set_bytes(level, option, &[value])
    }

    fn set_bytes(&self, level: libc::c_int, option: libc::c_int, value: &[libc::c_int]) -> io::Result<()> {
        let length = size_of_val(value) as libc::socklen_t;
        // SAFETY: the value is readable for its length.
        let status =
            unsafe { libc::setsockopt(self.fd.as_raw_fd(), level, option, value.as_ptr().cast(), length) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl From<PacketSocket> for OwnedFd {
    fn from(socket: PacketSocket) -> Self {
        socket.fd
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::{make_veth, set_up};
    use crate::network::Namespace;
    use crate::signals;

    #[test]
    fn a_tagged_frame_arrives_with_its_tag_and_the_time() {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) => return eprintln!("skipped: no network namespace for this user: {error}"),
        };
        namespace.run(in_namespace).unwrap();
    }

    fn in_namespace() {
        if let Err(error) = make_veth("here", "there", None, None) {
            return eprintln!("skipped: this kernel cannot create veth pairs: {error}");
        }
        set_up("here").unwrap();
        set_up("there").unwrap();
        let receiver = PacketSocket::receiver("there", 1 << 16).unwrap();
        let sender = PacketSocket::sender("here").unwrap();
        sender.set_priority(3).unwrap();
        let mut frame = vec![0xff; 6];
        frame.extend_from_slice(&[2, 0, 0, 0, 0, 1, 0x81, 0, 0x60, 5, 0x88, 0xb5]);
        frame.resize(200, 0x5a);
        let (before, mut buffer) = (Clock::Realtime.now_ns(), [0; 300]);
        // The kernel may begin to timestamp a short time after it was enabled.
        let received = loop {
            sender.send(&frame).unwrap();
            signals::wait_readable(&[receiver.as_fd().as_raw_fd()], 1_000_000_000).unwrap();
            let Some(received) = receiver.receive(&mut buffer).unwrap() else { continue };
            let is_ours = buffer[12..14] == [0x88, 0xb5];
            if is_ours && received.software_ns.is_some() {
                break received;
            }
        };
        assert_eq!((received.length, received.vlan_tci), (196, Some(0x6005)));
        assert!(received.software_ns.is_some_and(|at| (before..=Clock::Realtime.now_ns()).contains(&at)));
        assert_eq!(received.hardware_ns, None);
    }
}
