//! Continuous TCP: random bytes as fast as the other end reads them.
//!
//! The other end is `tardy load sink HOST` on another machine, as for [`super::network`]; without a peer it is a thread here.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;

use tardy_sys::counters::Counter;

use super::messages::Message;
use super::network::{self, Peer};
use super::random::Random;
use super::worker::{Ended, Worker};

/// Handed to the kernel at once, and therefore the granularity of the count.
const CHUNK_BYTES: usize = 64 << 10;
/// How long the other end may take for a chunk before its connection counts as broken.
const CHUNK_PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(worker: &Worker) -> Ended {
    let peer = worker.peer.as_deref().map(Peer::find).transpose()?;
    // Over loopback any free port will do.
    let listener = network::listen(if peer.is_some() { port(worker)? } else { 0 }, peer.is_some())?;
    let mut connection = network::first_connection(worker, &listener, peer.as_ref())?;
    let mut random = Random::new(worker.seed);
    let chunk: Vec<u8> = (0..CHUNK_BYTES / 8).flat_map(|_| random.next().to_le_bytes()).collect();
    let sent = &worker.counters()[0];
    let mut running = false;
    loop {
        // A broken connection shows as a gap in the rate; the sink reconnects.
        while send(&connection, &chunk, sent).is_ok() {
            if !running {
                running = true;
                worker.send(&Message::Running);
            }
        }
        connection = network::next_connection(&listener, peer.as_ref(), None)?;
    }
}

/// The port of `net:PORT`, or the default.
pub(super) fn port(worker: &Worker) -> Result<u16, String> {
    parse_port(&worker.part.argument).map(|own| own.unwrap_or(worker.port))
}

/// Parses what follows the colon of `net:PORT`.
pub(super) fn parse_port(argument: &str) -> Result<Option<u16>, String> {
    match argument.parse() {
        _ if argument.is_empty() => Ok(None),
        Ok(port) if port > 0 => Ok(Some(port)),
        _ => Err(format!("'{argument}' is not a port; expected 1 to 65535")),
    }
}

fn send(mut connection: &TcpStream, chunk: &[u8], sent: &Counter) -> io::Result<()> {
    connection.set_write_timeout(Some(CHUNK_PATIENCE))?;
    connection.write_all(chunk)?;
    sent.add(chunk.len() as u64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn what_is_sent_is_counted_and_a_broken_connection_is_an_error() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        let reader = std::thread::spawn(move || other.read_exact(&mut [0; 30]).unwrap());
        let counter = Counter::default();
        for _ in 0..3 {
            send(&connection, &[7; 10], &counter).unwrap();
        }
        assert_eq!(counter.get(), 30);
        reader.join().unwrap();
        while send(&connection, &[7; 10], &counter).is_ok() {}
    }

    #[test]
    fn ports_are_written_like_this() {
        assert_eq!(parse_port(""), Ok(None));
        assert_eq!(parse_port("5567"), Ok(Some(5567)));
        for text in ["0", "65536", "http", "-1"] {
            assert!(parse_port(text).is_err(), "{text}");
        }
    }
}
