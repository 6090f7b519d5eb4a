//! The frames of a test: their headers and their payload.

use tardy_sys::internet_checksum;
use tardy_tsn::network::Marks;

/// Identifies the payload of a test's frame.
const MAGIC: u32 = 0x7461_7264;
/// IEEE 802's EtherType for local experiments.
const EXPERIMENT: u16 = 0x88b5;
const IPV4: u16 = 0x0800;
const VLAN: u16 = 0x8100;
/// Magic number, flow, phase, sequence number and time.
const PAYLOAD_BYTES: usize = 18;
const ETHERNET_BYTES: usize = 14;

/// The contents of a frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Payload {
    /// Index of its flow.
    pub(super) flow: u8,
    /// Index of the phase.
    pub(super) phase: u8,
    /// Its number, from 0.
    pub(super) sequence: u32,
    /// When it was sent, in ns on the schedule's clock.
    pub(super) sent_ns: i64,
}

/// A frame that is sent repeatedly. Only its number and its time change.
#[derive(Clone, Debug)]
pub(super) struct Template {
    bytes: Vec<u8>,
    payload_at: usize,
    checksum_at: Option<usize>,
}

impl Template {
    /// A frame of `size` bytes that carries `marks`, from `source` to `destination`.
    ///
    /// # Errors
    /// A message for the user, if it is too short for its payload.
    pub(super) fn new(
        marks: &Marks,
        source: [u8; 6],
        destination: [u8; 6],
        size: usize,
    ) -> Result<Self, String> {
        let mut bytes = destination.to_vec();
        bytes.extend_from_slice(&source);
        if marks.vlan.is_some() || marks.pcp.is_some() {
            bytes.extend_from_slice(&VLAN.to_be_bytes());
            let tci = u16::from(marks.pcp.unwrap_or(0)) << 13 | marks.vlan.unwrap_or(0) & 0xfff;
            bytes.extend_from_slice(&tci.to_be_bytes());
        }
        let is_of_ip = marks.udp_port.is_some() || marks.tcp_port.is_some() || marks.dscp.is_some();
        let ethertype = if is_of_ip { IPV4 } else { marks.ethertype.unwrap_or(EXPERIMENT) };
        bytes.extend_from_slice(&ethertype.to_be_bytes());
        let mut checksum_at = None;
        if is_of_ip {
            checksum_at = Some(ip_header(&mut bytes, marks, size));
        }
        let payload_at = bytes.len();
        let least = payload_at + PAYLOAD_BYTES;
        if size < least {
            return Err(format!(
                "frames of {size} bytes have no room for their headers, number and time: the minimum is {least}"
            ));
        }
        bytes.resize(size, 0);
        bytes[payload_at..payload_at + 4].copy_from_slice(&MAGIC.to_be_bytes());
        Ok(Self { bytes, payload_at, checksum_at })
    }

    /// The frame with this payload.
    pub(super) fn with(&mut self, payload: Payload) -> &[u8] {
        let at = self.payload_at;
        self.bytes[at + 4] = payload.flow;
        self.bytes[at + 5] = payload.phase;
        self.bytes[at + 6..at + 10].copy_from_slice(&payload.sequence.to_be_bytes());
        self.bytes[at + 10..at + 18].copy_from_slice(&payload.sent_ns.to_be_bytes());
        debug_assert!(self.checksum_at.is_none_or(|at| at < self.payload_at));
        &self.bytes
    }
}

/// Appends an IPv4 header, and a UDP or TCP header if a port is given. Returns the position of the IPv4 checksum. UDP's
/// checksum is omitted, as IPv4 permits, and TCP's is not needed: no host accepts the segment.
fn ip_header(bytes: &mut Vec<u8>, marks: &Marks, size: usize) -> usize {
    const UDP: u8 = 17;
    const TCP: u8 = 6;
    /// For use in descriptions of protocols (RFC 3692).
    const EXPERIMENT_PROTOCOL: u8 = 253;
    let start = bytes.len();
    let length = size.saturating_sub(start) as u16;
    let protocol = match (marks.udp_port, marks.tcp_port) {
        (Some(_), _) => UDP,
        (None, Some(_)) => TCP,
        (None, None) => EXPERIMENT_PROTOCOL,
    };
    bytes.extend_from_slice(&[0x45, marks.dscp.unwrap_or(0) << 2]);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 0x40, 0, 64, protocol, 0, 0]);
    // Addresses for tests (RFC 5737).
    bytes.extend_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
    let sum = internet_checksum::of(&bytes[start..]);
    bytes[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
    if let Some(port) = marks.udp_port {
        bytes.extend_from_slice(&49_152u16.to_be_bytes());
        bytes.extend_from_slice(&port.to_be_bytes());
        bytes.extend_from_slice(&length.saturating_sub(20).to_be_bytes());
        bytes.extend_from_slice(&[0, 0]);
    } else if let Some(port) = marks.tcp_port {
        bytes.extend_from_slice(&49_152u16.to_be_bytes());
        bytes.extend_from_slice(&port.to_be_bytes());
        bytes.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0]);
    }
    start + 10
}

/// The payload of a received frame, without its VLAN tag; `None` if it is not a frame of a test.
pub(super) fn read(frame: &[u8]) -> Option<Payload> {
    let ethertype = u16::from_be_bytes(frame.get(12..14)?.try_into().ok()?);
    let at = match (ethertype, frame.get(23)) {
        (IPV4, Some(17)) => ETHERNET_BYTES + 28,
        (IPV4, Some(6)) => ETHERNET_BYTES + 40,
        (IPV4, Some(253)) => ETHERNET_BYTES + 20,
        _ => ETHERNET_BYTES,
    };
    let payload = frame.get(at..at + PAYLOAD_BYTES)?;
    if payload[..4] != MAGIC.to_be_bytes() {
        return None;
    }
    Some(Payload {
        flow: payload[4],
        phase: payload[5],
        sequence: u32::from_be_bytes(payload[6..10].try_into().ok()?),
        sent_ns: i64::from_be_bytes(payload[10..18].try_into().ok()?),
    })
}

/// A frame of 60 bytes that only makes switches learn the sender's address, with or without a VLAN.
pub(super) fn hello(source: [u8; 6], destination: [u8; 6], marks: &Marks) -> Vec<u8> {
    let tag = Marks { pcp: marks.pcp, vlan: marks.vlan, ..Marks::default() };
    let Ok(mut frame) = Template::new(&tag, source, destination, 60) else { return Vec::new() };
    // Without the magic number, it does not count for any flow.
    frame.bytes[frame.payload_at..].fill(0);
    frame.bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: Payload = Payload { flow: 3, phase: 1, sequence: 0x0102_0304, sent_ns: -5 };

    fn received(marks: &Marks, size: usize) -> Vec<u8> {
        let mut template = Template::new(marks, [2; 6], [4; 6], size).unwrap();
        let mut frame = template.with(PAYLOAD).to_vec();
        assert_eq!(frame.len(), size);
        if frame[12..14] == VLAN.to_be_bytes() {
            frame.drain(12..16);
        }
        frame
    }

    #[test]
    fn a_payload_is_read_back_with_every_header() {
        let none = Marks::default();
        for marks in [
            none,
            Marks { udp_port: Some(6666), ..none },
            Marks { udp_port: Some(6666), pcp: Some(3), ..none },
            Marks { tcp_port: Some(80), ..none },
            Marks { dscp: Some(46), vlan: Some(5), ..none },
            Marks { ethertype: Some(0x88f7), ..none },
        ] {
            assert_eq!(read(&received(&marks, 100)), Some(PAYLOAD), "{marks:?}");
        }
    }

    #[test]
    fn an_ip_header_has_a_valid_checksum() {
        let frame = received(&Marks { udp_port: Some(7777), dscp: Some(10), ..Marks::default() }, 1014);
        assert_eq!(internet_checksum::of(&frame[14..34]), 0);
        assert_eq!(frame[16..18], 1000u16.to_be_bytes());
        assert_eq!((frame[15], &frame[36..38]), (40, &7777u16.to_be_bytes()[..]));
    }

    #[test]
    fn a_frame_needs_room_for_its_payload() {
        let marks = Marks { udp_port: Some(1), vlan: Some(1), ..Marks::default() };
        assert!(Template::new(&marks, [2; 6], [4; 6], 64).is_ok());
        assert!(Template::new(&marks, [2; 6], [4; 6], 63).unwrap_err().contains("the minimum is 64"));
    }

    #[test]
    fn frames_of_other_programs_are_ignored() {
        for length in 0..80 {
            assert_eq!(read(&vec![0xff; length]), None);
        }
        assert_eq!(read(&hello([2; 6], [4; 6], &Marks::default())), None);
    }
}
