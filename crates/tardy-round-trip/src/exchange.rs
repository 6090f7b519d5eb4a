//! Opens the socket of a round trip, and exchanges messages with the peer.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use tardy_record::plan::{Protocol, RoundTripPlan};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::icmp::EchoSocket;
use tardy_sys::links;
use tardy_sys::network;
use tardy_sys::packet::PacketSocket;
use tardy_sys::stamped_socket::{Arrival, StampedSocket};

use crate::frame::{self, Answer, ETHERTYPE, ETHERTYPE_ETHERCAT, Form, Mac, PACKET_BYTES_MAX};
use crate::message::Message;

/// The port of `tardy reflect`, and of every host's echo service (RFC 862).
pub const PORT: u16 = 7;
/// How long a name may take to resolve and a first answer to come, in ns.
pub const FIRST_ANSWER_NS: u64 = 3_000_000_000;

/// A socket to the peer.
#[derive(Debug)]
pub struct Exchange {
    socket: StampedSocket,
    form: Form,
    run: u64,
    link: Option<String>,
    packet: [u8; PACKET_BYTES_MAX],
}

impl Exchange {
    /// Opens the socket to the peer of `plan`. Answers have the number `run`.
    ///
    /// # Errors
    /// No such host, link or route, or no right to open the socket, as a message for the user.
    pub fn open(plan: &RoundTripPlan, run: u64) -> Result<Self, String> {
        let mut link = plan.link.clone();
        let (socket, form): (OwnedFd, Form) = match plan.protocol {
            Protocol::Udp => {
                let socket = udp(plan)?;
                link = link_of(&socket);
                (socket.into(), Form::Datagram)
            }
            Protocol::Icmp => {
                let (echo, to) = icmp(plan)?;
                link = link_of(&echo.socket);
                let raw = echo.raw.then_some(std::process::id() as u16);
                (echo.socket.into(), Form::Echo { ipv6: to.is_ipv6(), raw })
            }
            Protocol::Ethernet => {
                let to = frame::mac(&plan.peer)?;
                let (socket, from) = packets(plan.link.as_deref(), ETHERTYPE)?;
                (socket.into(), Form::Ethernet { to, from })
            }
            Protocol::Ethercat => {
                let (socket, from) = packets(plan.link.as_deref(), ETHERTYPE_ETHERCAT)?;
                (socket.into(), Form::Ethercat { from })
            }
        };
        Ok(Self { socket: stamped(socket)?, form, run, link, packet: [0; PACKET_BYTES_MAX] })
    }

    /// The link that the requests leave by; `None` if it is unknown.
    pub fn link(&self) -> Option<&str> {
        self.link.as_deref()
    }

    /// Whether sent packets are stamped.
    pub fn stamps_sent(&self) -> bool {
        self.socket.stamps_sent()
    }

    /// Sends the request with this number.
    ///
    /// # Errors
    /// send(2)'s.
    pub fn send(&mut self, sequence: u64) -> io::Result<()> {
        let length = self.form.pack(&Message::request(self.run, sequence), &mut self.packet);
        self.socket.send(&self.packet[..length])
    }

    /// The stamp of a sent request: its number modulo 2^32, and when it was handed to the driver.
    pub fn take_sent(&self) -> Option<(u32, i64)> {
        self.socket.take_sent()
    }

    /// A received answer; `None` if none waits. Other packets are skipped.
    ///
    /// # Errors
    /// recvmsg(2)'s.
    pub fn receive(&mut self) -> io::Result<Option<(Answer, Arrival)>> {
        loop {
            let Some(arrival) = self.socket.receive(&mut self.packet)? else { return Ok(None) };
            let answer = self.form.unpack(&self.packet[..arrival.length]);
            if let Some(answer) = answer.filter(|answer| answer.message.run == self.run) {
                return Ok(Some((answer, arrival)));
            }
        }
    }

    /// Waits for a packet, at most this long.
    pub fn wait(&self, timeout_ns: u64) -> bool {
        self.socket.wait(timeout_ns)
    }

    /// Sends requests until the first answer.
    ///
    /// # Errors
    /// If none comes within [`FIRST_ANSWER_NS`], with the reason as far as it is known.
    pub fn check(&mut self, peer: &str) -> Result<(), String> {
        const TRIES: u64 = 30;
        let mut last = None;
        for _ in 0..TRIES {
            // This number is not one of the measurement.
            if let Err(error) = self.send(u64::MAX) {
                last = Some(error);
            }
            let end_ns = monotonic_ns() + FIRST_ANSWER_NS / TRIES;
            loop {
                // The stamp of the request ends the wait too.
                while self.take_sent().is_some() {}
                match self.receive() {
                    Ok(Some(_)) => return Ok(()),
                    Ok(None) => {}
                    Err(error) => last = Some(error),
                }
                let now_ns = monotonic_ns();
                if now_ns >= end_ns {
                    break;
                }
                self.wait(end_ns - now_ns);
            }
        }
        Err(match last {
            Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => format!(
                "{peer} refuses the requests: nothing listens on this port; start `tardy reflect` there, or use --protocol icmp"
            ),
            Some(error) => format!(
                "{peer} cannot be reached: {error}; check --peer, --link and the route (`ip route get`)"
            ),
            None => format!(
                "{peer} did not answer within {} s; start `tardy reflect` there, check its firewall, or use --protocol icmp",
                FIRST_ANSWER_NS / 1_000_000_000
            ),
        })
    }
}

/// The peer of `plan`, for messages.
pub fn peer_name(plan: &RoundTripPlan) -> String {
    match plan.protocol {
        Protocol::Ethercat => {
            format!("the EtherCAT devices on {}", plan.link.as_deref().unwrap_or("the link"))
        }
        _ => format!("the peer {}", plan.peer),
    }
}

/// The address of `HOST`, `HOST:PORT` or `[IPV6]:PORT`.
///
/// # Errors
/// If the host has none.
pub fn resolve(peer: &str, port: u16) -> Result<SocketAddr, String> {
    let absent = |error: io::Error| format!("the peer '{peer}' has no address: {error}; check --peer");
    let has_port = peer.rsplit_once(':').is_some_and(|(host, port)| {
        port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
    });
    let mut found = match has_port {
        true => peer.to_socket_addrs().map_err(absent)?,
        false => {
            let host = peer.trim_start_matches('[').trim_end_matches(']');
            (host, port).to_socket_addrs().map_err(absent)?
        }
    };
    found.next().ok_or_else(|| format!("the peer '{peer}' has no address; check --peer"))
}

fn udp(plan: &RoundTripPlan) -> Result<UdpSocket, String> {
    let to = resolve(&plan.peer, PORT)?;
    let any: IpAddr = if to.is_ipv6() { [0_u16; 8].into() } else { [0_u8; 4].into() };
    let socket =
        UdpSocket::bind((any, 0)).map_err(|error| format!("no UDP socket can be opened: {error}"))?;
    connected(&socket, to, plan)?;
    Ok(socket)
}

fn icmp(plan: &RoundTripPlan) -> Result<(EchoSocket, IpAddr), String> {
    let to = resolve(&plan.peer, 0)?;
    let echo = EchoSocket::open(to.is_ipv6()).map_err(|error| {
        format!(
            "ICMP cannot be sent: {error}; run as root, or allow it for all users: \
             sysctl -w net.ipv4.ping_group_range='0 2147483647'"
        )
    })?;
    connected(&echo.socket, SocketAddr::new(to.ip(), 0), plan)?;
    Ok((echo, to.ip()))
}

/// The socket with time stamps.
pub(crate) fn stamped(socket: OwnedFd) -> Result<StampedSocket, String> {
    StampedSocket::of(socket)
        .map_err(|error| format!("this kernel does not stamp packets ({error}); it needs Linux 2.6.30"))
}

/// The link with the local address of a connected socket.
fn link_of(socket: &UdpSocket) -> Option<String> {
    let local = socket.local_addr().ok()?.ip();
    let (index, _) = network::addresses().ok()?.into_iter().find(|(_, address)| *address == local)?;
    links::all().ok()?.into_iter().find(|link| link.index == index).map(|link| link.name)
}

fn connected(socket: &UdpSocket, to: SocketAddr, plan: &RoundTripPlan) -> Result<(), String> {
    socket.connect(to).map_err(|error| {
        format!("{} cannot be reached: {error}; `ip route get {}` shows the route", peer_name(plan), to.ip())
    })
}

/// A socket for frames of this ethertype on the link, and the link's address.
pub(crate) fn packets(link: Option<&str>, ethertype: u16) -> Result<(PacketSocket, Mac), String> {
    let link = link.ok_or("--link names the link for raw frames; `ip link` lists them")?;
    let info = links::find(link).map_err(|error| format!("the links cannot be read: {error}"))?;
    let info = info.ok_or_else(|| format!("there is no link '{link}'; `ip link` lists them"))?;
    if !info.is_up || !info.has_carrier {
        let state = if info.is_up { "has no carrier" } else { "is down" };
        return Err(format!("the link {link} {state}; `ip link show {link}` shows its state"));
    }
    let mac: Mac = info
        .address
        .as_slice()
        .try_into()
        .map_err(|_| format!("the link {link} is not an Ethernet link; `ip link` shows addresses"))?;
    let socket = PacketSocket::of_protocol(link, ethertype).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("raw frames on {link} need CAP_NET_RAW: {error}; run as root, or use --protocol udp")
        }
        _ => format!("raw frames on {link} cannot be sent: {error}"),
    })?;
    Ok((socket, mac))
}

/// How long an answer may be missing before it counts as lost.
pub fn lost_after(interval: Duration) -> Duration {
    (interval * 10).clamp(Duration::from_millis(100), Duration::from_secs(10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_a_port_or_the_usual_one() {
        for (text, address) in [
            ("127.0.0.1", "127.0.0.1:7"),
            ("127.0.0.1:70", "127.0.0.1:70"),
            ("::1", "[::1]:7"),
            ("[::1]", "[::1]:7"),
            ("[::1]:70", "[::1]:70"),
        ] {
            assert_eq!(resolve(text, PORT).unwrap(), address.parse().unwrap(), "{text}");
        }
        assert!(resolve("no host", PORT).unwrap_err().contains("check --peer"));
    }
}
