//! Netlink: asking the kernel to change its network settings (netlink(7)).
//!
//! A request is built as bytes, sent, and answered by one acknowledgement, in which the kernel says in words what it
//! did not like where it can (NETLINK_EXT_ACK). The crates that were tried are named in the design's research; what
//! tardy needs of the protocol is this file.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Room for an answer: the kernel quotes the request in it.
const ANSWER_BYTES: usize = 1 << 17;
const HEADER_BYTES: usize = 16;

/// Why the kernel refused, in its own words where it has any.
#[derive(Debug)]
pub struct NetlinkError {
    /// The error number as an error.
    pub source: io::Error,
    /// The kernel's explanation (NLMSGERR_ATTR_MSG).
    pub explanation: Option<String>,
}

impl fmt::Display for NetlinkError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.explanation {
            Some(explanation) => write!(out, "{explanation} ({})", self.source),
            None => write!(out, "{}", self.source),
        }
    }
}

impl std::error::Error for NetlinkError {}

impl From<io::Error> for NetlinkError {
    fn from(source: io::Error) -> Self {
        Self { source, explanation: None }
    }
}

/// A request being built: a header, a fixed part, and attributes.
#[derive(Clone, Debug)]
pub struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A request of type `kind` with the flags NLM_F_REQUEST, NLM_F_ACK and `flags`, and its fixed part.
    pub fn new(kind: u16, flags: u16, fixed: &[u8]) -> Self {
        let flags = flags | (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(fixed);
        let mut request = Self { bytes };
        request.pad();
        request
    }

    /// Adds an attribute.
    ///
    /// # Panics
    /// When the value is longer than an attribute can be, 65,531 bytes: what is built here is of a known size.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        self.nest(kind, |request| {
            request.bytes.extend_from_slice(value);
        })
    }

    /// Adds an attribute with a text that ends in a zero byte.
    pub fn text(&mut self, kind: u16, value: &str) -> &mut Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Adds an attribute whose value `fill` appends.
    ///
    /// # Panics
    /// When the value is longer than an attribute can be.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        fill(self);
        let length = u16::try_from(self.bytes.len() - start).expect("no attribute is that long");
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.pad();
        self
    }

    /// Appends bytes that are no attribute, such as the fixed part of a nested message.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self.pad();
        self
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finished(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let length = bytes.len() as u32;
        bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }
}

/// A connection to the kernel's routing and link settings (rtnetlink(7)).
#[derive(Debug)]
pub struct RouteSocket {
    fd: OwnedFd,
}

impl RouteSocket {
    /// Opens it, in the calling thread's network namespace.
    ///
    /// # Errors
    /// socket(2)'s.
    pub fn open() -> io::Result<Self> {
        // SAFETY: socket(2) takes integers only.
        let fd = unsafe {
            libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
            let on: libc::c_int = 1;
            // SAFETY: the value is an int, and its size is given. Kernels before 4.12 refuse, and then just explain
            // nothing.
            unsafe {
                libc::setsockopt(fd.as_raw_fd(), libc::SOL_NETLINK, option, (&raw const on).cast(), 4);
            }
        }
        Ok(Self { fd })
    }

    /// Sends `request` and waits for the kernel's answer.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn ask(&self, request: &Request) -> Result<(), NetlinkError> {
        let bytes = request.finished();
        // SAFETY: the bytes are readable for their length.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error().into());
        }
        let mut answer = vec![0; ANSWER_BYTES];
        // SAFETY: the buffer is writable for its length.
        let length = unsafe { libc::recv(self.fd.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
        if length < 0 {
            return Err(io::Error::last_os_error().into());
        }
        read_answer(&answer[..length as usize])
    }
}

/// Reads an acknowledgement (`struct nlmsgerr`, include/uapi/linux/netlink.h).
fn read_answer(answer: &[u8]) -> Result<(), NetlinkError> {
    let number = |at: usize| Some(i32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
    let kind = answer.get(4..6).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
    match (kind, number(HEADER_BYTES)) {
        (Some(kind), Some(0)) if kind == libc::NLMSG_ERROR as u16 => Ok(()),
        (Some(kind), Some(error)) if kind == libc::NLMSG_ERROR as u16 => Err(NetlinkError {
            source: io::Error::from_raw_os_error(error.wrapping_neg()),
            explanation: explanation(answer),
        }),
        _ => Err(io::Error::other("the kernel's answer is no acknowledgement").into()),
    }
}

/// NLMSGERR_ATTR_MSG, after the error and the header of the request that it answers.
fn explanation(answer: &[u8]) -> Option<String> {
    const MESSAGE: u16 = 1;
    let mut rest = answer.get(2 * HEADER_BYTES + 4..)?;
    while let Some(head) = rest.get(..4) {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let kind = u16::from_ne_bytes([head[2], head[3]]);
        let value = rest.get(4..length)?;
        if kind == MESSAGE {
            let text = value.strip_suffix(&[0]).unwrap_or(value);
            return Some(String::from_utf8_lossy(text).into_owned());
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_cover_what_is_nested_and_every_part_is_aligned() {
        let mut request = Request::new(16, 0, &[7; 16]);
        request.nest(18, |request| {
            request.text(1, "veth");
        });
        let bytes = request.finished();
        assert_eq!(bytes.len(), 16 + 16 + 4 + 12);
        assert_eq!(u32::from_ne_bytes(bytes[0..4].try_into().unwrap()) as usize, bytes.len());
        assert_eq!(bytes[32..36], [[16, 0], [18, 0]].concat());
        assert_eq!(bytes[36..46], *b"\x09\0\x01\0veth\0\0");
    }

    #[test]
    fn the_kernel_says_why() {
        let socket = RouteSocket::open().unwrap();
        // A link that does not exist: every user may ask, and nobody is granted it.
        let request = Request::new(libc::RTM_SETLINK, 0, &[0; 16]);
        let error = socket.ask(&request).unwrap_err();
        assert!(error.source.raw_os_error().is_some_and(|number| number > 0), "{error}");
    }

    #[test]
    fn any_answer_is_borne() {
        for length in 0..64 {
            let _ = read_answer(&vec![0xff; length]);
            let mut answer = vec![0; length];
            answer.iter_mut().skip(4).take(1).for_each(|byte| *byte = libc::NLMSG_ERROR as u8);
            let _ = read_answer(&answer);
        }
    }
}
