//! Sends random bytes over TCP as fast as the other end reads them.
//!
//! The other end is `tardy load sink HOST` on another machine, as for [`super::network`]; without a peer it is a thread
//! of this process.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;

use tardy_sys::counters::Counter;

use super::messages::Message;
use super::network;
use super::peer::Peer;
use super::random::Random;
use super::worker::{Ended, Worker};

/// Handed to the kernel at once, and therefore the granularity of the count.
const CHUNK_BYTES: usize = 64 << 10;
/// How long the other end may take for a chunk before its connection counts as broken.
const CHUNK_PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(worker: &Worker, port: u16) -> Ended {
    let peer = worker.peer.as_deref().map(Peer::find).transpose()?;
    // Over loopback any free port is suitable.
    let listener = network::listen(if peer.is_some() { port } else { 0 }, peer.is_some())?;
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
    fn sent_bytes_are_counted_and_a_broken_connection_is_an_error() {
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
}
