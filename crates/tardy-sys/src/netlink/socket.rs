//! Netlink sockets: a request and its acknowledgement, a dump of many messages, and notifications.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::{Attributes, HEADER_BYTES, NetlinkError, Request};

/// The size of the receive buffer: the kernel quotes the request in its answer, and sends a dump in parts of up to 32
/// KiB, smaller if the reader's buffer is smaller (netlink_dump() in net/netlink/af_netlink.c).
const ANSWER_BYTES: usize = 1 << 17;

/// A socket for the kernel's routing and link settings (rtnetlink(7)).
#[derive(Debug)]
pub struct RouteSocket {
    fd: OwnedFd,
}

/// A message of a dump, or a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its type, such as RTM_NEWLINK.
    pub kind: u16,
    /// The port of the socket whose request caused it; 0 if the kernel itself did.
    pub port: u32,
    /// The message without its header: the fixed part and the attributes.
    pub body: Vec<u8>,
}

impl Message {
    /// The messages of a datagram, up to the first that is incomplete.
    pub fn all_in(datagram: &[u8]) -> Vec<Self> {
        split(datagram).into_iter().map(|(_, message, _)| message).collect()
    }

    /// The attributes after a fixed part of `fixed_bytes` bytes.
    pub fn attributes(&self, fixed_bytes: usize) -> Attributes<'_> {
        Attributes::of(self.body.get(fixed_bytes..).unwrap_or_default())
    }

    /// A 32-bit number of the fixed part.
    pub fn number_at(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.body.get(at..at + 4)?.try_into().ok()?))
    }
}

impl RouteSocket {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// socket(2)'s.
    pub fn open() -> io::Result<Self> {
        let fd = open_socket(0)?;
        for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
            let on: libc::c_int = 1;
            // SAFETY: the value is an int, and its size is given. Kernels before 4.12 refuse it, and then send no
            // messages with errors.
            unsafe {
                libc::setsockopt(fd.as_raw_fd(), libc::SOL_NETLINK, option, (&raw const on).cast(), 4);
            }
        }
        Ok(Self { fd })
    }

    /// Its port, which marks notifications of its own requests ([`Message::port`]); 0 before its first request.
    ///
    /// # Errors
    /// getsockname(2)'s.
    pub fn port(&self) -> io::Result<u32> {
        // SAFETY: a sockaddr_nl of zeros is valid.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        let fd = self.fd.as_raw_fd();
        // SAFETY: the address is writable for its length.
        if unsafe { libc::getsockname(fd, (&raw mut address).cast(), &raw mut length) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(address.nl_pid)
    }

    /// Sends `request` and waits for the kernel's answer.
    ///
    /// # Errors
    /// The kernel's.
    pub fn ask(&self, request: &Request) -> Result<(), NetlinkError> {
        self.ask_for_warning(request).map(drop)
    }

    /// Sends `request` and waits for the kernel's answer. Returns the kernel's warning, if there is one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn ask_for_warning(&self, request: &Request) -> Result<Option<String>, NetlinkError> {
        self.send(request)?;
        let mut answer = vec![0; ANSWER_BYTES];
        let length = receive(self.fd.as_raw_fd(), &mut answer, 0)?;
        read_answer(&answer[..length])
    }

    /// Sends `request`, which must ask for a dump (NLM_F_DUMP), and collects its messages.
    ///
    /// # Errors
    /// The kernel's; EINTR if the list changed during every attempt.
    pub fn dump(&self, request: &Request) -> Result<Vec<Message>, NetlinkError> {
        const TRIES: usize = 8;
        for _ in 0..TRIES {
            self.send(request)?;
            if let Some(messages) = self.collect()? {
                return Ok(messages);
            }
        }
        Err(io::Error::from_raw_os_error(libc::EINTR).into())
    }

    /// The messages up to the end of the dump; `None` if the list changed in between (NLM_F_DUMP_INTR).
    fn collect(&self) -> Result<Option<Vec<Message>>, NetlinkError> {
        let (mut messages, mut consistent) = (Vec::new(), true);
        let mut buffer = vec![0; ANSWER_BYTES];
        loop {
            let length = receive(self.fd.as_raw_fd(), &mut buffer, 0)?;
            for (flags, message, whole) in split(&buffer[..length]) {
                consistent &= flags & libc::NLM_F_DUMP_INTR as u16 == 0;
                if message.kind == libc::NLMSG_DONE as u16 {
                    return Ok(consistent.then_some(messages));
                }
                if message.kind == libc::NLMSG_ERROR as u16 {
                    read_answer(whole)?;
                    return Ok(Some(messages));
                }
                messages.push(message);
            }
        }
    }

    fn send(&self, request: &Request) -> io::Result<()> {
        let bytes = request.finished();
        // SAFETY: the bytes are readable for their length.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Notifications about links and qdiscs (RTNLGRP_LINK, RTNLGRP_TC) of the namespace in which it was opened.
#[derive(Debug)]
pub struct Monitor {
    fd: OwnedFd,
}

impl Monitor {
    /// Subscribes to the notifications.
    ///
    /// # Errors
    /// socket(2)'s and bind(2)'s.
    pub fn open() -> io::Result<Self> {
        // include/uapi/linux/rtnetlink.h: the older groups, as a mask.
        const RTMGRP_LINK: u32 = 1;
        const RTMGRP_TC: u32 = 8;
        Ok(Self { fd: open_socket(RTMGRP_LINK | RTMGRP_TC)? })
    }

    /// The notifications so far, without waiting. ENOBUFS reports that some were lost.
    ///
    /// # Errors
    /// recv(2)'s.
    pub fn news(&self) -> io::Result<Vec<Message>> {
        let (mut news, mut buffer) = (Vec::new(), vec![0; ANSWER_BYTES]);
        loop {
            match receive(self.fd.as_raw_fd(), &mut buffer, libc::MSG_DONTWAIT) {
                Ok(length) => news.extend(Message::all_in(&buffer[..length])),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(news),
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn open_socket(groups: u32) -> io::Result<OwnedFd> {
    // SAFETY: socket(2) takes integers only.
    let fd =
        unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    if groups != 0 {
        // SAFETY: a sockaddr_nl of zeros is valid.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = groups;
        let length = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: the address is valid for its length.
        if unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(fd)
}

fn receive(fd: RawFd, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
    loop {
        // SAFETY: the buffer is writable for its length.
        let length = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), flags) };
        match usize::try_from(length) {
            Ok(length) => return Ok(length),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

/// The messages of a datagram, with their flags and their whole bytes.
fn split(mut rest: &[u8]) -> Vec<(u16, Message, &[u8])> {
    let mut messages = Vec::new();
    while let Some(head) = rest.get(..HEADER_BYTES) {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some(whole) = rest.get(..length).filter(|whole| whole.len() >= HEADER_BYTES) else { break };
        let kind = u16::from_ne_bytes([head[4], head[5]]);
        let flags = u16::from_ne_bytes([head[6], head[7]]);
        let port = u32::from_ne_bytes([head[12], head[13], head[14], head[15]]);
        messages.push((flags, Message { kind, port, body: whole[HEADER_BYTES..].to_vec() }, whole));
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    messages
}

/// Reads an acknowledgement (`struct nlmsgerr`, include/uapi/linux/netlink.h). Returns the kernel's warning, if there
/// is one.
///
/// # Errors
/// The kernel's error; an error without a number if `answer` is not an acknowledgement.
pub fn read_answer(answer: &[u8]) -> Result<Option<String>, NetlinkError> {
    let number = |at: usize| Some(i32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
    let kind = answer.get(4..6).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
    match (kind, number(HEADER_BYTES)) {
        (Some(kind), Some(0)) if kind == libc::NLMSG_ERROR as u16 => Ok(explanation(answer)),
        (Some(kind), Some(error)) if kind == libc::NLMSG_ERROR as u16 => Err(NetlinkError {
            source: io::Error::from_raw_os_error(error.wrapping_neg()),
            explanation: explanation(answer),
        }),
        _ => Err(io::Error::other("the kernel's answer is not an acknowledgement").into()),
    }
}

/// NLMSGERR_ATTR_MSG, after the error and the header of the request.
fn explanation(answer: &[u8]) -> Option<String> {
    const MESSAGE: u16 = 1;
    let attributes = Attributes::of(answer.get(2 * HEADER_BYTES + 4..)?);
    attributes.find(MESSAGE).map(|message| message.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_answer_can_be_parsed() {
        for length in 0..64 {
            let _ = read_answer(&vec![0xff; length]);
            let mut answer = vec![0; length];
            answer.iter_mut().skip(4).take(1).for_each(|byte| *byte = libc::NLMSG_ERROR as u8);
            let _ = read_answer(&answer);
            assert!(split(&answer).len() <= length);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no netlink sockets")]
    fn a_dump_of_links_has_the_loopback() {
        let socket = RouteSocket::open().unwrap();
        let links = socket.dump(&Request::new(libc::RTM_GETLINK, libc::NLM_F_DUMP as u16, &[0; 16])).unwrap();
        let name = |link: &Message| link.attributes(16).find(libc::IFLA_IFNAME).map(|name| name.text());
        assert!(links.iter().any(|link| name(link).as_deref() == Some("lo")), "{links:?}");
        let port = socket.port().unwrap();
        assert!(port != 0 && links.iter().all(|link| link.port == port), "{links:?}");
    }
}
