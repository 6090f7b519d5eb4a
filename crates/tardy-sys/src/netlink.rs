//! Netlink: changes the kernel's network settings (netlink(7)).
//!
//! A request is built as bytes, sent, and answered by one acknowledgement, which contains the kernel's message if there
//! is one (NETLINK_EXT_ACK). ADR 0012 lists the crates that were tried.

use std::fmt;
use std::io;

mod attributes;
mod socket;

pub use attributes::{Attribute, Attributes};
pub use socket::{Message, Monitor, RouteSocket, read_answer};

const HEADER_BYTES: usize = 16;
/// The longest attribute, including its header: its length is a 16-bit number.
pub const ATTRIBUTE_BYTES_MAX: usize = u16::MAX as usize;

/// The kernel's refusal of a request, with its message if there is one.
#[derive(Debug)]
pub struct NetlinkError {
    /// The error.
    pub source: io::Error,
    /// The kernel's message (NLMSGERR_ATTR_MSG).
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

impl NetlinkError {
    /// Whether this is the error with this number, such as `libc::EEXIST`.
    pub fn is(&self, number: i32) -> bool {
        self.source.raw_os_error() == Some(number)
    }

    /// Whether the device, qdisc or VLAN does not exist (ENODEV, ENOENT).
    pub fn is_absent(&self) -> bool {
        self.is(libc::ENODEV) || self.is(libc::ENOENT)
    }

    /// Whether it already exists (EEXIST).
    pub fn is_there(&self) -> bool {
        self.is(libc::EEXIST)
    }

    /// Whether the kernel and its loaded modules do not support the requested kind (EOPNOTSUPP, ENOENT with "unknown
    /// qdisc").
    pub fn is_unknown_kind(&self) -> bool {
        self.is(libc::EOPNOTSUPP) && self.explanation.as_deref().is_none_or(|text| text.contains("nknown"))
            || self.explanation.as_deref().is_some_and(|text| text.contains("qdisc kind is unknown"))
    }

    /// Whether the permission is missing (EPERM).
    pub fn is_forbidden(&self) -> bool {
        self.is(libc::EPERM) || self.is(libc::EACCES)
    }
}

impl std::error::Error for NetlinkError {}

impl From<io::Error> for NetlinkError {
    fn from(source: io::Error) -> Self {
        Self { source, explanation: None }
    }
}

/// A request under construction: a header, a fixed part, and attributes.
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
    /// If the value is longer than an attribute can be, 65,531 bytes; all values that are built here have a known
    /// size.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        self.nest(kind, |request| {
            request.bytes.extend_from_slice(value);
        })
    }

    /// Adds an attribute with a NUL-terminated text.
    pub fn text(&mut self, kind: u16, value: &str) -> &mut Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Adds an attribute whose value is appended by `fill`.
    ///
    /// # Panics
    /// If the value is longer than an attribute can be.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        fill(self);
        let length =
            u16::try_from(self.bytes.len() - start).expect("the length of an attribute fits into 16 bits");
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.pad();
        self
    }

    /// Appends bytes that are not an attribute, such as the fixed part of a nested message.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self.pad();
        self
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// The bytes as they are sent.
    pub fn finished(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let length = bytes.len() as u32;
        bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_include_nested_attributes_and_every_part_is_aligned() {
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
    #[cfg_attr(miri, ignore = "Miri has no netlink sockets")]
    fn the_kernels_message_is_in_the_error() {
        let socket = RouteSocket::open().unwrap();
        // The link does not exist, so the request fails for every user.
        let request = Request::new(libc::RTM_SETLINK, 0, &[0; 16]);
        let error = socket.ask(&request).unwrap_err();
        assert!(error.source.raw_os_error().is_some_and(|number| number > 0), "{error}");
    }
}
