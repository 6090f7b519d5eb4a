//! The packets of each protocol around a [`Message`].

use tardy_sys::internet_checksum;

use crate::message::{MESSAGE_BYTES, Message};

/// A hardware address.
pub type Mac = [u8; 6];

/// The ethertype of round trips over raw Ethernet: the first one for local experiments (IEEE 802).
pub const ETHERTYPE: u16 = 0x88b5;
/// EtherCAT's.
pub const ETHERTYPE_ETHERCAT: u16 = 0x88a4;
/// The least length of a frame without its checksum.
const FRAME_BYTES_MIN: usize = 60;
const ETHERNET_BYTES: usize = 14;
/// ICMP's header: type, code, checksum, identifier, sequence number.
const ICMP_BYTES: usize = 8;

/// EtherCAT's commands and lengths (ETG.1000): no operation, and a broadcast read.
const NO_OPERATION: u8 = 0;
const BROADCAST_READ: u8 = 7;
const ETHERCAT_BYTES: usize = 2;
const DATAGRAM_BYTES: usize = 10;
const COUNTER_BYTES: usize = 2;
/// The bytes that the broadcast reads: the type and the revision of each device.
const READ_BYTES: usize = 2;
const COUNTER_PLACE: usize = ETHERNET_BYTES + ETHERCAT_BYTES + DATAGRAM_BYTES + READ_BYTES;
const ETHERCAT_MESSAGE_PLACE: usize = COUNTER_PLACE + COUNTER_BYTES + DATAGRAM_BYTES;

/// The longest packet.
pub const PACKET_BYTES_MAX: usize = 128;

/// How requests are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The message alone, in a UDP datagram.
    Datagram,
    /// An ICMP echo request.
    Echo {
        /// Whether it is ICMPv6.
        ipv6: bool,
        /// For a raw socket, which needs an identifier and a checksum, and which receives IPv4's header; `None` for a ping socket.
        raw: Option<u16>,
    },
    /// A frame to one host.
    Ethernet {
        /// Its address.
        to: Mac,
        /// That of the sender.
        from: Mac,
    },
    /// A broadcast that EtherCAT devices return.
    Ethercat {
        /// The address of the sender.
        from: Mac,
    },
}

/// An answer in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The message.
    pub message: Message,
    /// EtherCAT's working counter: how many devices were read.
    pub devices: Option<u16>,
}

impl Form {
    /// Writes a packet with `message` into `packet`. Returns its length.
    pub fn pack(&self, message: &Message, packet: &mut [u8; PACKET_BYTES_MAX]) -> usize {
        packet.fill(0);
        match *self {
            Self::Datagram => {
                message.write(packet);
                MESSAGE_BYTES
            }
            Self::Echo { ipv6, raw } => {
                let length = ICMP_BYTES + MESSAGE_BYTES;
                message.write(&mut packet[ICMP_BYTES..]);
                packet[0] = if ipv6 { 128 } else { 8 };
                packet[4..6].copy_from_slice(&raw.unwrap_or(0).to_be_bytes());
                packet[6..8].copy_from_slice(&(message.sequence as u16).to_be_bytes());
                if !ipv6 {
                    let sum = internet_checksum::of(&packet[..length]);
                    packet[2..4].copy_from_slice(&sum.to_be_bytes());
                }
                length
            }
            Self::Ethernet { to, from } => {
                write_addresses(packet, to, from, ETHERTYPE);
                message.write(&mut packet[ETHERNET_BYTES..]);
                (ETHERNET_BYTES + MESSAGE_BYTES).max(FRAME_BYTES_MIN)
            }
            Self::Ethercat { from } => {
                write_addresses(packet, [0xff; 6], from, ETHERTYPE_ETHERCAT);
                let datagrams = 2 * (DATAGRAM_BYTES + COUNTER_BYTES) + READ_BYTES + MESSAGE_BYTES;
                // The length in eleven bits, and type 1: datagrams follow.
                let head = (datagrams as u16) | 1 << 12;
                packet[ETHERNET_BYTES..ETHERNET_BYTES + 2].copy_from_slice(&head.to_le_bytes());
                let first = ETHERNET_BYTES + ETHERCAT_BYTES;
                write_datagram(&mut packet[first..], BROADCAST_READ, READ_BYTES, true);
                let second = COUNTER_PLACE + COUNTER_BYTES;
                // Devices leave its content alone.
                write_datagram(&mut packet[second..], NO_OPERATION, MESSAGE_BYTES, false);
                message.write(&mut packet[ETHERCAT_MESSAGE_PLACE..]);
                ETHERNET_BYTES + ETHERCAT_BYTES + datagrams
            }
        }
    }

    /// The message in a received packet; `None` if it is something else, such as the host's own request.
    pub fn unpack(&self, packet: &[u8]) -> Option<Answer> {
        let of = |bytes: &[u8]| Message::read(bytes).map(|message| Answer { message, devices: None });
        match *self {
            Self::Datagram => of(packet),
            Self::Echo { ipv6, raw } => {
                let head = match packet.first() {
                    Some(first) if raw.is_some() && !ipv6 => usize::from(first & 15) * 4,
                    _ => 0,
                };
                let packet = packet.get(head..)?;
                let is_answer = packet.first() == Some(if ipv6 { &129 } else { &0 });
                of(packet.get(ICMP_BYTES..)?).filter(|_| is_answer)
            }
            Self::Ethernet { from, .. } => {
                // The kernel delivers frames to other hosts too, if the link is promiscuous.
                let is_to_us = packet.get(..6)? == from && ethertype(packet)? == ETHERTYPE;
                of(packet.get(ETHERNET_BYTES..)?).filter(|_| is_to_us)
            }
            Self::Ethercat { .. } => {
                let answer = of(packet.get(ETHERCAT_MESSAGE_PLACE..)?)?;
                let devices = packet.get(COUNTER_PLACE..COUNTER_PLACE + COUNTER_BYTES)?;
                let devices = u16::from_le_bytes(devices.try_into().ok()?);
                (ethertype(packet)? == ETHERTYPE_ETHERCAT)
                    .then_some(Answer { devices: Some(devices), ..answer })
            }
        }
    }
}

/// Turns a received frame into its answer, as `tardy reflect` on the host with the address `own` returns it. `false` if it is
/// not a request.
pub fn reflect_frame(frame: &mut [u8], own: Mac, peer_ns: Option<u64>) -> bool {
    match ethertype(frame) {
        Some(ETHERTYPE) => {
            let Some(bytes) = frame.get_mut(ETHERNET_BYTES..) else { return false };
            if !reflect_message(bytes, peer_ns) {
                return false;
            }
            frame.copy_within(6..12, 0);
            frame[6..12].copy_from_slice(&own);
            true
        }
        Some(ETHERTYPE_ETHERCAT) => {
            let Some(message) = frame.get(ETHERCAT_MESSAGE_PLACE..).and_then(Message::read) else {
                return false;
            };
            if message.is_answer {
                return false;
            }
            // As devices mark the frames that they have processed.
            frame[6] |= 2;
            let place = COUNTER_PLACE..COUNTER_PLACE + COUNTER_BYTES;
            let counter = u16::from_le_bytes([frame[place.start], frame[place.start + 1]]).wrapping_add(1);
            frame[place].copy_from_slice(&counter.to_le_bytes());
            message.answered(peer_ns).write(&mut frame[ETHERCAT_MESSAGE_PLACE..]);
            true
        }
        _ => false,
    }
}

/// Turns a request into its answer. `false` if it is not a request: an answer is never answered, so that two peers do not answer
/// each other for ever.
pub fn reflect_message(bytes: &mut [u8], peer_ns: Option<u64>) -> bool {
    match Message::read(bytes) {
        Some(message) if !message.is_answer => {
            message.answered(peer_ns).write(bytes);
            true
        }
        _ => false,
    }
}

/// The hardware address `text`, such as `02:00:00:00:00:01`.
///
/// # Errors
/// If it is something else.
pub fn mac(text: &str) -> Result<Mac, String> {
    let wrong = || {
        format!(
            "'{text}' is not a hardware address: expected six bytes, for example 02:00:00:00:00:01; `ip link` shows them"
        )
    };
    let bytes: Vec<u8> = text
        .split(':')
        .map(|byte| u8::from_str_radix(byte, 16).ok().filter(|_| byte.len() <= 2))
        .collect::<Option<_>>()
        .ok_or_else(wrong)?;
    bytes.try_into().map_err(|_| wrong())
}

fn ethertype(frame: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(frame.get(12..14)?.try_into().ok()?))
}

fn write_addresses(packet: &mut [u8], to: Mac, from: Mac, ethertype: u16) {
    packet[..6].copy_from_slice(&to);
    packet[6..12].copy_from_slice(&from);
    packet[12..14].copy_from_slice(&ethertype.to_be_bytes());
}

fn write_datagram(bytes: &mut [u8], command: u8, length: usize, more: bool) {
    bytes[0] = command;
    let length = length as u16 | u16::from(more) << 15;
    bytes[6..8].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Mac = [2, 0, 0, 0, 0, 1];
    const PEER: Mac = [0, 0, 0, 0, 0, 2];

    #[test]
    fn a_reflected_frame_is_the_answer_and_is_not_reflected_again() {
        let sender: Mac = [0, 0, 0, 0, 0, 1];
        for form in [Form::Ethernet { to: PEER, from: sender }, Form::Ethercat { from: sender }] {
            let mut packet = [0; PACKET_BYTES_MAX];
            let length = form.pack(&Message::request(7, 9), &mut packet);
            assert!(length >= FRAME_BYTES_MIN);
            let frame = &mut packet[..length];
            assert!(reflect_frame(frame, PEER, Some(1000)), "{form:?}");
            let answer = form.unpack(frame).unwrap();
            assert_eq!(answer.message, Message::request(7, 9).answered(Some(1000)));
            let is_ethercat = matches!(form, Form::Ethercat { .. });
            assert_eq!(answer.devices, is_ethercat.then_some(1));
            assert!(!reflect_frame(frame, US, None), "{form:?}");
        }
    }

    #[test]
    fn frames_to_others_and_requests_are_not_answers() {
        let form = Form::Ethernet { to: PEER, from: US };
        let mut packet = [0; PACKET_BYTES_MAX];
        let length = form.pack(&Message::request(7, 9), &mut packet);
        assert_eq!(form.unpack(&packet[..length]), None, "it is to the peer");
        let echo = Form::Echo { ipv6: false, raw: None };
        let length = echo.pack(&Message::request(7, 9), &mut packet);
        assert_eq!(echo.unpack(&packet[..length]), None, "it is a request");
        assert_eq!(internet_checksum::of(&packet[..length]), 0);
        packet[0] = 0;
        assert_eq!(echo.unpack(&packet[..length]).unwrap().message.sequence, 9);
        for length in 0..length {
            assert_eq!(echo.unpack(&packet[..length]), None);
            assert_eq!(form.unpack(&packet[..length]), None);
            assert!(!reflect_frame(&mut packet[..length], US, None));
        }
    }

    #[test]
    fn an_ethercat_frame_has_the_lengths_that_its_heads_state() {
        let mut packet = [0; PACKET_BYTES_MAX];
        let length = Form::Ethercat { from: US }.pack(&Message::request(0, 0), &mut packet);
        let head = u16::from_le_bytes([packet[14], packet[15]]);
        assert_eq!((head >> 12, usize::from(head & 0x7ff)), (1, length - 16));
        let first = u16::from_le_bytes([packet[22], packet[23]]);
        assert_eq!((packet[16], first & 0x7ff, first >> 15), (BROADCAST_READ, 2, 1));
        let second = 16 + 10 + 2 + 2;
        let length_of_second = u16::from_le_bytes([packet[second + 6], packet[second + 7]]);
        assert_eq!(usize::from(length_of_second), MESSAGE_BYTES);
        assert_eq!(second + 10 + MESSAGE_BYTES + 2, length);
    }

    #[test]
    fn hardware_addresses_are_read() {
        assert_eq!(mac("02:00:00:00:0:1"), Ok(US));
        for text in ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "02:00:00:00:00:100", "host"] {
            assert!(mac(text).unwrap_err().contains("hardware address"), "{text}");
        }
    }
}
