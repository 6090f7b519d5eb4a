//! Sends ICMP echo requests like `ping -f`: the next as soon as the last is answered, or after 10 ms.

use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use tardy_sys::counters::Counter;
use tardy_sys::icmp::EchoSocket;
use tardy_sys::internet_checksum;

use super::messages::Message;
use super::peer::{LOOPBACK_REMARK, Peer};
use super::worker::{Ended, Worker};

/// Time between unanswered requests, as with `ping -f`.
const PATIENCE: Duration = Duration::from_millis(10);
/// How long the first answer may take.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// ping's 56 bytes of data after a header of 8.
const REQUEST_BYTES: usize = 64;

pub(super) fn run(worker: &Worker) -> Ended {
    let to = match worker.peer.as_deref().map(Peer::find).transpose()? {
        Some(peer) => peer.address(),
        None => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    if to.is_loopback() {
        worker.send(&Message::Remark(LOOPBACK_REMARK.to_owned()));
    }
    let mut flood = Flood::open(to)?;
    let answered = &worker.counters()[0];
    let begin = Instant::now();
    while answered.get() == 0 {
        flood.step(answered)?;
        if begin.elapsed() > START_PATIENCE {
            return Err(format!("{to} did not answer any ping within {} s", START_PATIENCE.as_secs()));
        }
    }
    worker.send(&Message::Running);
    loop {
        flood.step(answered)?;
    }
}

struct Flood {
    socket: UdpSocket,
    raw: bool,
    ipv6: bool,
    identifier: u16,
    sequence: u16,
}

impl Flood {
    fn open(to: IpAddr) -> Result<Self, String> {
        let EchoSocket { socket, raw } = EchoSocket::open(to.is_ipv6()).map_err(|error| {
            format!(
                "ICMP cannot be sent: {error}; run as root, or allow it for all users: \
                 sysctl -w net.ipv4.ping_group_range='0 2147483647'"
            )
        })?;
        let failed = |error| format!("{to} cannot be pinged: {error}");
        socket.connect((to, 0)).map_err(failed)?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        Ok(Self { socket, raw, ipv6: to.is_ipv6(), identifier: std::process::id() as u16, sequence: 0 })
    }

    /// Sends one request and waits for its answer.
    fn step(&mut self, answered: &Counter) -> Result<(), String> {
        self.sequence = self.sequence.wrapping_add(1);
        let sent = Instant::now();
        let mut request = [b'-'; REQUEST_BYTES];
        request[..8].copy_from_slice(&self.head(if self.ipv6 { 128 } else { 8 }));
        let sum = if self.ipv6 { 0 } else { internet_checksum::of(&request) };
        request[2..4].copy_from_slice(&sum.to_be_bytes());
        match self.socket.send(&request) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(format!("the kernel refuses to send a ping: {error}; check the firewall"));
            }
            // The link is down or a queue is full: the rate shows it.
            Err(_) => std::thread::sleep(PATIENCE),
        }
        let mut received = [0; 512];
        while sent.elapsed() < PATIENCE {
            let Ok(length) = self.socket.recv(&mut received) else { continue };
            if self.is_answer(&received[..length]) {
                answered.add(1);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Type, code, no checksum yet, identifier and sequence number (RFC 792, RFC 4443).
    fn head(&self, kind: u8) -> [u8; 8] {
        let (identifier, sequence) = (self.identifier.to_be_bytes(), self.sequence.to_be_bytes());
        [kind, 0, 0, 0, identifier[0], identifier[1], sequence[0], sequence[1]]
    }

    /// Whether this is the answer to the last request. The kernel chooses a ping socket's identifier.
    fn is_answer(&self, received: &[u8]) -> bool {
        let ip_head = match received.first() {
            Some(first) if self.raw && !self.ipv6 => usize::from(first & 15) * 4,
            _ => 0,
        };
        let Some(message) = received.get(ip_head..).filter(|message| message.len() >= 8) else {
            return false;
        };
        let expected = self.head(if self.ipv6 { 129 } else { 0 });
        message[0] == expected[0]
            && message[6..8] == expected[6..8]
            && (!self.raw || message[4..6] == expected[4..6])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted() {
        let mut flood = match Flood::open(IpAddr::V4(Ipv4Addr::LOCALHOST)) {
            Ok(flood) => flood,
            Err(failed) => {
                println!("skipped: {failed}");
                assert!(failed.contains("ping_group_range"), "{failed}");
                return;
            }
        };
        let counter = Counter::default();
        while counter.get() < 10 {
            flood.step(&counter).unwrap();
        }
    }

    #[test]
    fn only_an_answer_to_the_last_request_counts() {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let mut flood = Flood { socket, raw: true, ipv6: false, identifier: 0x1234, sequence: 7 };
        let answer = |kind, identifier: u8, sequence| {
            let mut bytes = vec![0x45; 20];
            bytes.extend([kind, 0, 0, 0, 0x12, identifier, 0, sequence]);
            bytes
        };
        assert!(flood.is_answer(&answer(0, 0x34, 7)));
        for other in [answer(8, 0x34, 7), answer(0, 0x35, 7), answer(0, 0x34, 6), vec![0x4f; 20], Vec::new()]
        {
            assert!(!flood.is_answer(&other), "{other:?}");
        }
        (flood.raw, flood.identifier) = (false, 1);
        assert!(flood.is_answer(&[0, 0, 0, 0, 9, 9, 0, 7]), "the kernel's identifier");
    }
}
