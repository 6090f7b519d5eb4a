//! The receiver for [`super::network`], [`super::stream`] and [`super::datagrams`] on another machine: connects, reads
//! what is sent, and reconnects; it also answers datagrams from the same host.
//!
//! The sender sets the pace: an early connection waits in its queue. The sink may be started before the sender and
//! keeps running after it, until it is ended.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use tardy_sys::counters::Counter;

use super::messages::Message;
use super::worker::{Ended, Worker};

const BUFFER_BYTES: usize = 64 << 10;
/// Time between attempts to connect to a host that is not listening yet.
const RETRY_AFTER: Duration = Duration::from_secs(1);
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(worker: &Worker, host: &str) -> Ended {
    let addresses = addresses(host, worker.port)?;
    let (stream_bytes, datagram_bytes) = (&worker.counters()[0], &worker.counters()[1]);
    let datagrams = datagram_socket(&addresses[0]);
    if let Err(error) = &datagrams {
        worker.send(&Message::Remark(format!("datagrams of `net` are not received: {error}")));
    }
    worker.send(&Message::Running);
    let hosts: Vec<IpAddr> = addresses.iter().map(|address| address.ip().to_canonical()).collect();
    std::thread::scope(|scope| {
        if let Ok(socket) = &datagrams {
            let is_host = |from| hosts.contains(&from);
            scope.spawn(move || super::datagrams::answer_for_ever(socket, datagram_bytes, is_host));
        }
        let mut reported = None;
        take_for_ever(&addresses, Some(stream_bytes), |connected| {
            if reported != Some(connected) {
                reported = Some(connected);
                worker.send(&Message::Notice(describe_connection(host, addresses[0].port(), connected)));
            }
        })
    })
}

fn describe_connection(host: &str, port: u16, connected: bool) -> String {
    if connected {
        format!("connected to {host}, port {port}")
    } else {
        format!("no sender on {host}, port {port}, yet; trying every second")
    }
}

/// The socket that receives the host's datagrams. It has the same port number as the host's.
fn datagram_socket(host: &SocketAddr) -> Result<UdpSocket, String> {
    let any: IpAddr =
        if host.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let port = host.port();
    UdpSocket::bind((any, port)).map_err(|error| format!("UDP port {port} cannot be opened: {error}"))
}

/// Receives everything that the host sends, for ever; `tell` receives the outcome of every attempt.
pub(super) fn take_for_ever(
    addresses: &[SocketAddr],
    taken: Option<&Counter>,
    mut tell: impl FnMut(bool),
) -> ! {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let connected = addresses.iter().find_map(|to| TcpStream::connect_timeout(to, CONNECT_PATIENCE).ok());
        tell(connected.is_some());
        let got = connected.and_then(|connection| take(&connection, &mut buffer, taken).ok());
        if got.is_none_or(|bytes| bytes == 0) {
            std::thread::sleep(RETRY_AFTER);
        }
    }
}

/// Reads until the sender closes.
fn take(mut connection: &TcpStream, buffer: &mut [u8], taken: Option<&Counter>) -> io::Result<u64> {
    let mut bytes = 0;
    loop {
        match connection.read(buffer)? {
            0 => return Ok(bytes),
            read => {
                bytes += read as u64;
                if let Some(taken) = taken {
                    taken.add(read as u64);
                }
            }
        }
    }
}

/// The addresses of `HOST` or `HOST:PORT`.
fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let bare = |host: &str| host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let (name, port) = match host.rsplit_once(':') {
        Some((name, own)) if !name.contains(':') || name.ends_with(']') => {
            (bare(name), own.parse().map_err(|_| format!("'{own}' in '{host}' is not a TCP port"))?)
        }
        _ => (bare(host), port),
    };
    let found =
        (name.as_str(), port).to_socket_addrs().map_err(|error| format!("'{name}' has no address: {error}"));
    let found: Vec<SocketAddr> = found?.collect();
    if found.is_empty() { Err(format!("'{name}' has no address")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_may_have_a_port() {
        for (host, address) in [
            ("10.0.0.1", "10.0.0.1:5566"),
            ("10.0.0.1:99", "10.0.0.1:99"),
            ("fe80::1", "[fe80::1]:5566"),
            ("[fe80::1]", "[fe80::1]:5566"),
            ("[fe80::1]:99", "[fe80::1]:99"),
        ] {
            assert_eq!(addresses(host, 5566).map(|all| all[0].to_string()), Ok(address.to_owned()), "{host}");
        }
        assert!(addresses("10.0.0.1:http", 5566).unwrap_err().contains("not a TCP port"));
        assert!(addresses("no such host.invalid", 5566).unwrap_err().contains("has no address"));
    }
}
