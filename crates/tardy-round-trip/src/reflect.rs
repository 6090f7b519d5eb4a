//! The peer: returns requests to their sender, with how long it had them.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};

use tardy_record::plan::Protocol;
use tardy_sys::clock::Clock;
use tardy_sys::scheduling::{self, Scheduling};
use tardy_sys::signals::{EndSignals, wait_readable};
use tardy_sys::stamped_socket::StampedSocket;

use crate::exchange::{packets, stamped};
use crate::frame::{self, ETHERTYPE, ETHERTYPE_ETHERCAT, Mac};

/// The longest request that is returned, in bytes. A longer one is not of tardy.
const BYTES_MAX: usize = 256;

/// A peer.
#[derive(Debug)]
pub struct Reflector {
    socket: StampedSocket,
    /// The address of its link; `None` for UDP.
    own: Option<Mac>,
    place: String,
    /// Requests that it has returned.
    pub returned: u64,
}

impl Reflector {
    /// A peer for UDP on `port`, or for frames on `link`.
    ///
    /// # Errors
    /// As a message for the user.
    pub fn open(protocol: Protocol, port: u16, link: Option<&str>) -> Result<Self, String> {
        let (socket, own): (OwnedFd, _) = match protocol {
            Protocol::Udp => (udp(port)?.into(), None),
            Protocol::Icmp => {
                return Err("the kernel answers ICMP echo itself; no `tardy reflect` is needed".to_owned());
            }
            Protocol::Ethernet => of_link(link, ETHERTYPE)?,
            Protocol::Ethercat => of_link(link, ETHERTYPE_ETHERCAT)?,
        };
        let place = match link {
            Some(link) if protocol != Protocol::Udp => format!("in {} frames on {link}", protocol.name()),
            _ => format!("on UDP port {port}"),
        };
        Ok(Self { socket: stamped(socket)?, own, place, returned: 0 })
    }

    /// Where it answers, as the end of a sentence.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Gives the calling thread SCHED_FIFO with this priority; 0 leaves it as it is.
    ///
    /// # Errors
    /// If the kernel refuses it, as a message for the user.
    pub fn be_scheduled(priority: u32) -> Result<(), String> {
        if priority == 0 {
            return Ok(());
        }
        scheduling::set(Scheduling::Fifo(priority)).map_err(|error| {
            format!(
                "the kernel refuses real-time priority {priority} ({error}): answers may be late; CAP_SYS_NICE permits it"
            )
        })
    }

    /// Returns requests until a signal arrives.
    ///
    /// # Errors
    /// If the link goes away, or waiting fails.
    pub fn run(&mut self, signals: &EndSignals) -> io::Result<()> {
        loop {
            wait_readable(&[self.socket.as_raw_fd(), signals.as_raw_fd()], u64::MAX)?;
            if signals.take().is_some() {
                return Ok(());
            }
            self.answer()?;
        }
    }

    /// Returns the requests that wait.
    ///
    /// # Errors
    /// If the link is gone.
    pub fn answer(&mut self) -> io::Result<()> {
        let mut bytes = [0; BYTES_MAX];
        loop {
            // Stamps of answers are of no use here, and would keep the descriptor readable.
            while self.socket.take_sent().is_some() {}
            let arrival = match self.socket.receive(&mut bytes) {
                Ok(Some(arrival)) => arrival,
                Ok(None) => return Ok(()),
                // A sender that is gone refuses its answer.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            };
            let request = &mut bytes[..arrival.length.min(BYTES_MAX)];
            let since = |arrived_ns: i64| u64::try_from(Clock::Realtime.now_ns() - arrived_ns).ok();
            let peer_ns = arrival.software_ns.and_then(since);
            let is_request = match self.own {
                None => frame::reflect_message(request, peer_ns),
                Some(own) => frame::reflect_frame(request, own, peer_ns),
            };
            // An answer that a full queue refuses is lost, as on any network.
            let sent = is_request.then(|| match self.own {
                None => self.socket.send_to(request, &arrival.from),
                Some(_) => self.socket.send(request),
            });
            self.returned += u64::from(matches!(sent, Some(Ok(()))));
        }
    }
}

fn udp(port: u16) -> Result<UdpSocket, String> {
    // A socket for IPv6 receives IPv4 too; a kernel without IPv6 has no such socket.
    let socket = UdpSocket::bind(("::", port)).or_else(|error| match error.kind() {
        io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
        _ => UdpSocket::bind(("0.0.0.0", port)),
    });
    socket.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("UDP port {port} needs root ({error}); choose one from 1024 on with --port, and name it in --peer HOST:PORT")
        }
        io::ErrorKind::AddrInUse => {
            format!("UDP port {port} is in use, perhaps by an echo service, which is a peer too; choose another one with --port")
        }
        _ => format!("UDP port {port} cannot be opened: {error}"),
    })
}

fn of_link(link: Option<&str>, ethertype: u16) -> Result<(OwnedFd, Option<Mac>), String> {
    let (socket, own) = packets(link, ethertype)?;
    Ok((socket.into(), Some(own)))
}
