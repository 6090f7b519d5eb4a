//! A server without a network, for tests of what it makes of any bytes.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::Runtime;

use crate::connections::{Connections, Peer};
use crate::respond::{self, Limits};
use crate::routes;
use crate::serve::served;
use crate::serve_error::ServeError;
use crate::service::Service;
use crate::settings::{Allowed, OpenStore, Settings};

/// Bytes on their way in one direction.
const BUFFER: usize = 64 << 10;

/// A server without a network.
pub struct Unconnected {
    runtime: Runtime,
    router: axum::Router,
    service: Arc<Service>,
    connections: Arc<Connections>,
    allowed: Allowed,
}

impl Unconnected {
    /// A server of this archive. It follows nothing and tells no webhook.
    ///
    /// # Errors
    /// If the archive cannot be used.
    pub fn new(settings: Settings, open: OpenStore) -> Result<Self, ServeError> {
        let service = Arc::new(Service::new(settings, open)?);
        let allowed = Allowed { answers_after_end: true, ..Allowed::default() };
        let router = respond::router(&service, &Arc::new(Limits::new(allowed)), routes::all());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .map_err(ServeError::System)?;
        let connections = Arc::new(Connections::new(allowed.connections, allowed.connections_of_one));
        Ok(Self { runtime, router, service, connections, allowed })
    }

    /// What the server answers on a connection on which `bytes` arrive and then nothing more. No sender has sent too much before.
    pub fn answer(&self, bytes: &[u8]) -> Vec<u8> {
        self.service.rates.forget();
        let peer = Peer(IpAddr::V4(Ipv4Addr::LOCALHOST));
        self.runtime.block_on(async {
            let (mut client, server) = duplex(BUFFER);
            let place = Arc::new(self.connections.place(peer.0).await);
            let served = served(server, peer, place, self.router.clone(), self.allowed, None);
            let mut answer = Vec::new();
            let talk = async {
                let (mut from, mut to) = tokio::io::split(&mut client);
                let send = async {
                    // The server may have ended the connection.
                    let _ = to.write_all(bytes).await;
                    let _ = to.shutdown().await;
                };
                let _ = tokio::join!(send, from.read_to_end(&mut answer));
            };
            tokio::join!(served, talk);
            answer
        })
    }
}
