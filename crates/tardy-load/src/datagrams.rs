//! Sends UDP datagrams as fast as the receiver accepts them, and counts those that arrive.
//!
//! A datagram that the sender hands to the kernel may be dropped before it loads the receiver. The receiver therefore
//! answers every sixteenth datagram with its count, and only bytes that arrived are counted. The number of datagrams in
//! flight is limited, which also leaves bandwidth for the TCP part.
//!
//! The receiver is [`super::sink`] on another machine, or a thread of this process.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use tardy_sys::counters::Counter;

use super::messages::Message;
use super::peer::{LOOPBACK_REMARK, Peer};
use super::random::Random;
use super::worker::{Ended, Worker};

/// The size of a datagram. It fits into an Ethernet frame, with room for tunnels.
const DATAGRAM_BYTES: usize = 1400;
/// The start of each datagram: this magic, the sender's number, and the datagram's number.
const MAGIC: [u8; 8] = *b"tardyudp";
const HEAD_BYTES: usize = 24;
/// The number of datagrams between two answers, and the most in flight.
const ANSWER_EVERY: u64 = 16;
const WINDOW: u64 = 64;
/// After this time, datagrams in flight count as lost.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long the receiver may take for its first answer.
const START_PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(worker: &Worker, port: u16) -> Ended {
    let peer = worker.peer.as_deref().map(Peer::find).transpose()?;
    let to = match &peer {
        None => {
            let receiver = bind(Ipv4Addr::LOCALHOST.into(), 0)?;
            let address = receiver.local_addr().map_err(|error| format!("no address: {error}"))?;
            std::thread::spawn(move || answer_for_ever(&receiver, &Counter::default(), |_| true));
            worker.send(&Message::Remark(LOOPBACK_REMARK.to_owned()));
            address
        }
        Some(peer) => SocketAddr::new(peer.address(), port),
    };
    let any = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = bind(any, 0)?;
    socket.connect(to).map_err(|error| format!("{to} cannot be reached: {error}"))?;
    let mut sender = Sender::new(socket, worker.seed)?;
    let arrived = &worker.counters()[0];
    let begin = Instant::now();
    while arrived.get() == 0 {
        sender.exchange(arrived)?;
        if begin.elapsed() > START_PATIENCE {
            let (name, seconds) =
                (peer.as_ref().map_or("loopback", |peer| &peer.name), START_PATIENCE.as_secs());
            return Err(format!(
                "{name} did not answer any datagram on UDP port {} within {seconds} s; run `tardy load sink THIS-HOST` \
                 there, and let its firewall pass UDP",
                to.port()
            ));
        }
    }
    worker.send(&Message::Running);
    loop {
        sender.exchange(arrived)?;
    }
}

fn bind(address: IpAddr, port: u16) -> Result<UdpSocket, String> {
    UdpSocket::bind((address, port)).map_err(|error| format!("UDP port {port} cannot be opened: {error}"))
}

/// The sender.
struct Sender {
    socket: UdpSocket,
    datagram: [u8; DATAGRAM_BYTES],
    /// Numbers of the next datagram, and of the first that may still be in flight.
    next: u64,
    acknowledged: u64,
    /// The number of this sender's datagrams that the receiver has counted.
    received: u64,
}

impl Sender {
    fn new(socket: UdpSocket, seed: u64) -> Result<Self, String> {
        socket
            .set_read_timeout(Some(PATIENCE))
            .map_err(|error| format!("the timeout cannot be set: {error}"))?;
        let (mut random, mut datagram) = (Random::new(seed), [0; DATAGRAM_BYTES]);
        datagram.fill_with(|| random.next() as u8);
        datagram[..8].copy_from_slice(&MAGIC);
        // Distinguishes this sender from an earlier one on the same port.
        datagram[8..16].copy_from_slice(&u64::from(std::process::id()).to_le_bytes());
        Ok(Self { socket, datagram, next: 0, acknowledged: 0, received: 0 })
    }

    /// Sends as many datagrams as may be in flight, and waits for an answer.
    fn exchange(&mut self, arrived: &Counter) -> Result<(), String> {
        while self.next - self.acknowledged < WINDOW {
            self.datagram[16..24].copy_from_slice(&self.next.to_le_bytes());
            match self.socket.send(&self.datagram) {
                Ok(_) => self.next += 1,
                // No receiver (reported by ICMP), or the network card's queue is full.
                Err(error) if is_passing(&error) => break,
                Err(error) => return Err(format!("a datagram cannot be sent: {error}")),
            }
        }
        let mut answer = [0; HEAD_BYTES + 8];
        match self.socket.recv(&mut answer) {
            Ok(length) if length == answer.len() && answer[..16] == self.datagram[..16] => {
                let (highest, received) = (number(&answer[16..24]), number(&answer[24..]));
                self.acknowledged = self.acknowledged.max(highest.saturating_add(1)).min(self.next);
                arrived.add(received.saturating_sub(self.received).saturating_mul(DATAGRAM_BYTES as u64));
                self.received = self.received.max(received);
            }
            Ok(_) => {}
            Err(error) if is_passing(&error) => {
                // A refusal arrives immediately, so wait before the next attempt.
                if error.kind() == io::ErrorKind::ConnectionRefused {
                    std::thread::sleep(PATIENCE);
                }
                self.acknowledged = self.next;
            }
            Err(error) => return Err(format!("no answer can be received: {error}")),
        }
        Ok(())
    }
}

/// Whether the error may be temporary.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionRefused, HostUnreachable, Interrupted, NetworkDown, NetworkUnreachable, TimedOut,
        WouldBlock,
    };
    let kinds = [
        ConnectionRefused,
        HostUnreachable,
        Interrupted,
        NetworkDown,
        NetworkUnreachable,
        TimedOut,
        WouldBlock,
    ];
    /// ENOBUFS (send(2)): the card's queue is full.
    const NO_BUFFERS: i32 = 105;
    kinds.contains(&error.kind()) || error.raw_os_error() == Some(NO_BUFFERS)
}

/// The receiver: counts the bytes of all accepted senders and answers each.
pub(super) fn answer_for_ever(socket: &UdpSocket, taken: &Counter, is_wanted: impl Fn(IpAddr) -> bool) {
    let mut datagram = [0; DATAGRAM_BYTES];
    // Errors here concern answers whose sender is gone.
    let (mut sender, mut received) = ([0; 16], 0_u64);
    loop {
        let Ok((length, from)) = socket.recv_from(&mut datagram) else { continue };
        if length < HEAD_BYTES || datagram[..8] != MAGIC || !is_wanted(from.ip().to_canonical()) {
            continue;
        }
        taken.add(length as u64);
        if datagram[..16] != sender {
            sender.copy_from_slice(&datagram[..16]);
            received = 0;
        }
        received += 1;
        if received % ANSWER_EVERY == 0 {
            let mut answer = [0; HEAD_BYTES + 8];
            answer[..HEAD_BYTES].copy_from_slice(&datagram[..HEAD_BYTES]);
            answer[HEAD_BYTES..].copy_from_slice(&received.to_le_bytes());
            let _ = socket.send_to(&answer, from);
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let receiver = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        socket.connect(receiver.local_addr().unwrap()).unwrap();
        (socket, receiver)
    }

    #[test]
    fn arrived_datagrams_are_counted_at_both_ends() {
        let (socket, receiver) = pair();
        let taken = std::sync::Arc::new(Counter::default());
        let theirs = std::sync::Arc::clone(&taken);
        std::thread::spawn(move || answer_for_ever(&receiver, &theirs, |_| true));
        let (arrived, mut sender) = (Counter::default(), Sender::new(socket, 1).unwrap());
        while arrived.get() < 1_000_000 {
            sender.exchange(&arrived).unwrap();
        }
        assert!(arrived.get().is_multiple_of(16 * 1400), "{}", arrived.get());
        assert!(taken.get() >= arrived.get());
    }

    #[test]
    fn datagrams_that_do_not_arrive_are_not_counted() {
        let (socket, receiver) = pair();
        let (arrived, mut sender) = (Counter::default(), Sender::new(socket, 1).unwrap());
        std::thread::spawn(move || answer_for_ever(&receiver, &Counter::default(), |_| false));
        for _ in 0..3 {
            sender.exchange(&arrived).unwrap();
        }
        assert_eq!((arrived.get(), sender.next), (0, 3 * WINDOW));
    }
}
