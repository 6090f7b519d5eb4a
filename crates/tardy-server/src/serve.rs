//! Connections: accepting them, and serving each until it ends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::extract::Extension;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::access::host;
use crate::connections::{Connections, Peer, Place};
use crate::pace::Paced;
use crate::respond::{self, Limits};
use crate::routes::{self, Route};
use crate::serve_error::ServeError;
use crate::service::Service;
use crate::settings::{Allowed, OpenStore, Settings};
use crate::{follower, webhooks};

/// How long requests may take to end after the server was asked to stop.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// A server that runs. It ends when this is dropped.
pub struct Started {
    address: SocketAddr,
    runtime: Option<Runtime>,
    stop: Option<oneshot::Sender<()>>,
    accepting: Option<tokio::task::JoinHandle<()>>,
    threads: Vec<JoinHandle<()>>,
    service: Arc<Service>,
}

/// Starts a server.
///
/// # Errors
/// If the archive cannot be used, or the address is taken.
pub fn start(settings: Settings, open: OpenStore) -> Result<Started, ServeError> {
    start_with(settings, open, routes::all(), Allowed::default())
}

/// Starts a server with these routes.
pub(crate) fn start_with(
    settings: Settings,
    open: OpenStore,
    routes: Vec<Route>,
    allowed: Allowed,
) -> Result<Started, ServeError> {
    let listen = settings.listen;
    // Problems of the archive are reported before anything is served.
    drop(open()?.boards()?);
    let service = Arc::new(Service::new(settings, open)?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(ServeError::System)?;
    let listener =
        runtime.block_on(TcpListener::bind(listen)).map_err(|error| ServeError::Listen(listen, error))?;
    let address = listener.local_addr().map_err(ServeError::System)?;
    let (stop, stopped) = oneshot::channel();
    let router = respond::router(&service, &Arc::new(Limits::new(allowed)), routes);
    let accepting = runtime.spawn(accept(listener, router, allowed, stopped));
    let thread = |work: fn(&Service)| {
        let service = Arc::clone(&service);
        thread::spawn(move || work(&service))
    };
    let threads = match service.settings.may_write {
        true => vec![thread(follower::follow), thread(webhooks::tell)],
        false => vec![thread(follower::follow)],
    };
    Ok(Started {
        address,
        runtime: Some(runtime),
        stop: Some(stop),
        accepting: Some(accepting),
        threads,
        service,
    })
}

impl Started {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns when the process is asked to end.
    ///
    /// # Errors
    /// If signals cannot be received.
    pub fn wait_for_signal(&self) -> Result<(), ServeError> {
        let Some(runtime) = &self.runtime else { return Ok(()) };
        runtime.block_on(async {
            let mut end = signal(SignalKind::terminate()).map_err(ServeError::System)?;
            let mut interrupt = signal(SignalKind::interrupt()).map_err(ServeError::System)?;
            tokio::select! {
                _ = end.recv() => {}
                _ = interrupt.recv() => {}
            }
            Ok(())
        })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let (Some(runtime), Some(accepting)) = (self.runtime.take(), self.accepting.take()) {
            // A task that failed has ended too.
            let _ = runtime.block_on(accepting);
            runtime.shutdown_timeout(STOP_WITHIN);
        }
        self.service.news.end();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Accepts connections until the server is stopped, and waits for requests that are being answered.
async fn accept(
    listener: TcpListener,
    router: axum::Router,
    allowed: Allowed,
    mut stopped: oneshot::Receiver<()>,
) {
    let connections = Arc::new(Connections::new(allowed.connections, allowed.connections_of_one));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            _ = &mut stopped => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, peer)) = accepted else {
            // Too many open files, for example: one is closed soon.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let peer = Peer(host::group(peer.ip()));
        let place = tokio::select! {
            _ = &mut stopped => break,
            place = connections.place(peer.0) => Arc::new(place),
        };
        let served = served(stream, peer, Arc::clone(&place), router.clone(), allowed, Some(&graceful));
        place.ended_by(tokio::spawn(served).abort_handle());
    }
    let _ = tokio::time::timeout(STOP_WITHIN, graceful.shutdown()).await;
}

/// Answers the requests of a connection until it ends. `graceful` waits for the request that is being answered.
pub(crate) fn served<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    peer: Peer,
    place: Arc<Place>,
    router: axum::Router,
    allowed: Allowed,
    graceful: Option<&GracefulShutdown>,
) -> impl Future<Output = ()> + Send + use<S> {
    let router = router.layer(Extension(peer)).layer(Extension(Arc::clone(&place)));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(allowed.headers_within)
        .half_close(allowed.answers_after_end)
        .serve_connection(
            TokioIo::new(Paced::new(stream, allowed.stall_within)),
            TowerToHyperService::new(router),
        );
    let watched = graceful.map(|graceful| graceful.watcher());
    async move {
        // The sender is gone, too slow, or does not speak HTTP.
        let _ = match watched {
            Some(watcher) => watcher.watch(connection).await,
            None => connection.await,
        };
        drop(place);
    }
}
