//! A listener that sends a file every 7 s to the peer that connects.
//!
//! The article's script ran `netcat` on TCP port 5566 of the board with a file on standard input, and a host connected.
//! The size of that file is not known; here it is 4 MiB of random bytes, too large for any buffer on the way and
//! incompressible. Each burst is a separate connection, as with netcat.
//!
//! The other end is `tardy load sink HOST` on another machine ([`super::sink`]). Without a peer it is a thread of this
//! process, and the run records that neither a network card nor its interrupts were involved.

use std::io::{self, Write};
use std::net::{Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use tardy_sys::counters::Counter;
use tardy_sys::signals::wait_readable;

use super::messages::Message;
use super::peer::{LOOPBACK_REMARK, Peer};
use super::random::Random;
use super::task::NETWORK_BURST_EVERY;
use super::worker::{Ended, Worker};

/// The TCP port of the article's script.
pub const PORT: u16 = 5566;
const FILE_BYTES: usize = 4 << 20;
/// Handed to the kernel at once, and therefore the granularity of the count.
const CHUNK_BYTES: usize = 64 << 10;
/// How long the peer may take to connect before the measurement, and to accept a chunk.
const PATIENCE: Duration = Duration::from_secs(30);
const CHUNK_PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait for a sink that is already running before asking the user to start one, in ns.
const KNOCK_NS: u64 = 2_000_000_000;

pub(super) fn run(worker: &Worker) -> Ended {
    let peer = worker.peer.as_deref().map(Peer::find).transpose()?;
    let listener = listen(worker.port, peer.is_some())?;
    let mut first = first_connection(worker, &listener, peer.as_ref())?;
    let (file, sent) = (random_file(worker.seed), &worker.counters()[0]);
    let mut begin = Instant::now();
    while send(&first, &file, sent).is_err() {
        first = next_connection(&listener, peer.as_ref(), Some(PATIENCE))?;
    }
    worker.send(&Message::Running);
    loop {
        begin = next_burst(begin, Instant::now());
        // The pause is the script's `sleep 7`, part of the load's design.
        std::thread::sleep(begin.saturating_duration_since(Instant::now()));
        // Sending fails if the other end is gone; then the next connection in the queue is used.
        while send(&next_connection(&listener, peer.as_ref(), None)?, &file, sent).is_err() {}
    }
}

/// The first connection, from the peer or from a sink in this process.
pub(super) fn first_connection(
    worker: &Worker,
    listener: &TcpListener,
    peer: Option<&Peer>,
) -> Result<TcpStream, String> {
    match peer {
        None => {
            let address = listener.local_addr().map_err(|error| format!("no address: {error}"))?;
            std::thread::spawn(move || super::sink::take_for_ever(&[address], None, |_| {}));
            worker.send(&Message::Remark(LOOPBACK_REMARK.to_owned()));
        }
        // A sink that is running tries once per second; the user is asked to start one only if none does.
        Some(_) if has_knocked(listener)? => {}
        Some(peer) => worker.send(&Message::Notice(format!(
            "waiting for {peer}: run `tardy load sink THIS-HOST` there",
            peer = peer.name
        ))),
    }
    let first = next_connection(listener, peer, Some(PATIENCE))?;
    if let Some(remark) = peer.and_then(|_| remark_on(&first)) {
        worker.send(&Message::Remark(remark.to_owned()));
    }
    Ok(first)
}

/// When the next burst begins. After a stall the schedule starts again; missed bursts are not repeated.
fn next_burst(last: Instant, now: Instant) -> Instant {
    let next = last + NETWORK_BURST_EVERY;
    if next + NETWORK_BURST_EVERY < now { now } else { next }
}

/// Opens the port: for this machine only, or with a peer on every address.
pub(super) fn listen(port: u16, to_everybody: bool) -> Result<TcpListener, String> {
    let opened = if to_everybody {
        // IPv6's any address accepts IPv4 too, but the kernel may lack IPv6.
        TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).or_else(|error| match error.kind() {
            io::ErrorKind::AddrInUse => Err(error),
            _ => TcpListener::bind(("0.0.0.0", port)),
        })
    } else {
        TcpListener::bind(("127.0.0.1", port))
    };
    opened.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!(
                "TCP port {port} is in use; stop its listener (`ss -ltnp 'sport = :{port}'` shows it), or \
                 choose another port for the load `net` with net:PORT"
            )
        }
        _ => format!("TCP port {port} cannot be opened: {error}"),
    })
}

/// Whether a connection is waiting or arrives within [`KNOCK_NS`].
fn has_knocked(listener: &TcpListener) -> Result<bool, String> {
    let ready = wait_readable(&[listener.as_raw_fd()], KNOCK_NS);
    Ok(ready.map_err(|error| format!("cannot wait: {error}"))?[0])
}

/// The next connection from the peer, or from any address without a peer; others are closed.
pub(super) fn next_connection(
    listener: &TcpListener,
    peer: Option<&Peer>,
    patience: Option<Duration>,
) -> Result<TcpStream, String> {
    let deadline = patience.map(|patience| Instant::now() + patience);
    loop {
        let left = deadline.map_or(u64::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now()).as_nanos() as u64
        });
        let ready =
            wait_readable(&[listener.as_raw_fd()], left).map_err(|error| format!("cannot wait: {error}"))?;
        if !ready[0] {
            if left == 0 {
                return Err(no_connection(peer, listener));
            }
            continue;
        }
        let Ok((connection, from)) = listener.accept() else { continue };
        if peer.is_none_or(|peer| peer.addresses.contains(&from.ip().to_canonical())) {
            return Ok(connection);
        }
    }
}

fn no_connection(peer: Option<&Peer>, listener: &TcpListener) -> String {
    let port = listener.local_addr().map_or(PORT, |address| address.port());
    let peer = peer.map_or("loopback", |peer| &peer.name);
    let seconds = PATIENCE.as_secs();
    format!(
        "no connection from {peer} to TCP port {port} within {seconds} s; run `tardy load sink THIS-HOST` on \
         {peer}, or leave out --peer to use loopback"
    )
}

/// The remark on a connection that stays within this machine.
fn remark_on(connection: &TcpStream) -> Option<&'static str> {
    let (here, there) = (connection.local_addr().ok()?, connection.peer_addr().ok()?);
    let local = |address: SocketAddr| address.ip().to_canonical().is_loopback();
    (here.ip() == there.ip() || local(there)).then_some(LOOPBACK_REMARK)
}

fn random_file(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..FILE_BYTES / 8).flat_map(|_| random.next().to_le_bytes()).collect()
}

fn send(mut connection: &TcpStream, file: &[u8], sent: &Counter) -> io::Result<()> {
    connection.set_write_timeout(Some(CHUNK_PATIENCE))?;
    for chunk in file.chunks(CHUNK_BYTES) {
        connection.write_all(chunk)?;
        sent.add(chunk.len() as u64);
    }
    connection.shutdown(Shutdown::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_keep_their_schedule_and_are_not_caught_up() {
        let start = Instant::now();
        assert_eq!(next_burst(start, start + Duration::from_secs(2)), start + NETWORK_BURST_EVERY);
        assert_eq!(next_burst(start, start + Duration::from_secs(8)), start + NETWORK_BURST_EVERY);
        let late = start + Duration::from_secs(60);
        assert_eq!(next_burst(start, late), late);
    }

    #[test]
    fn a_port_in_use_is_named() {
        let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        for to_everybody in [false, true] {
            let error = listen(port, to_everybody).unwrap_err();
            assert!(error.contains(&format!("TCP port {port} is in use")), "{error}");
        }
    }

    #[test]
    fn a_local_connection_is_remarked_on_and_a_foreign_one_refused() {
        let listener = listen(0, true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let _mine = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let peer = Peer::find("127.0.0.1").unwrap();
        let taken = next_connection(&listener, Some(&peer), None).unwrap();
        assert_eq!(remark_on(&taken), Some(LOOPBACK_REMARK));
        let _stranger = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let elsewhere = Peer::find("192.0.2.1").unwrap();
        let error = next_connection(&listener, Some(&elsewhere), Some(Duration::ZERO)).unwrap_err();
        assert!(error.contains("192.0.2.1") && error.contains(&port.to_string()), "{error}");
    }

    #[test]
    fn the_file_depends_on_the_seed() {
        assert_eq!(random_file(3), random_file(3));
        assert_ne!(random_file(3), random_file(4));
        assert_eq!(random_file(3).len(), FILE_BYTES);
    }
}
