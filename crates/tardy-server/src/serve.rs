//! Connections: accepting them, reading requests within limits, and sending answers.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Extension, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::routing::{MethodFilter, on};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tardy_site::archive as site;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, oneshot};

use crate::access::host;
use crate::access::who::Who;
use crate::answer::{Answer, Refusal};
use crate::api::push::{RATIO_MAX, UPLOAD_MAX};
use crate::permission;
use crate::request::Request;
use crate::routes::{self, Route};
use crate::serve_error::ServeError;
use crate::service::Service;
use crate::settings::{OpenStore, Settings};
use crate::sharing::locked;
use crate::{follower, webhooks};

/// Connections at a time; others wait.
const CONNECTIONS_MAX: usize = 512;
/// Connections of one address at a time; further ones are closed.
const CONNECTIONS_OF_ONE: usize = CONNECTIONS_MAX / 2;
/// Pages that are made at a time.
const PAGES_AT_A_TIME: usize = 8;
/// How long the headers of a request may take.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// How long its content may take.
const CONTENT_WITHIN: Duration = Duration::from_secs(120);
/// How long requests may take to end after the server was asked to stop.
const STOP_WITHIN: Duration = Duration::from_secs(10);
/// Memory for uploads before and after decompression, in KiB.
const UPLOADS_KIB: u32 = 512 << 10;
/// The most bytes of a refused request that are read.
const DISCARD_MAX: usize = 1 << 20;
/// How long that may take.
const DISCARD_WITHIN: Duration = Duration::from_secs(5);
/// The most bytes of a form or of JSON that is sent.
const FORM_MAX: usize = 64 << 10;

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
    let accepting = runtime.spawn(accept(listener, Arc::clone(&service), stopped));
    let thread = |work: fn(&Service)| {
        let service = Arc::clone(&service);
        thread::spawn(move || work(&service))
    };
    let threads = vec![thread(follower::follow), thread(webhooks::tell)];
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

/// The address of the sender.
#[derive(Clone, Copy)]
struct Peer(IpAddr);

/// What requests share besides the service.
struct Limits {
    pages: Semaphore,
    uploads: Semaphore,
}

/// Accepts connections until the server is stopped, and waits for requests that are being answered.
async fn accept(listener: TcpListener, service: Arc<Service>, mut stopped: oneshot::Receiver<()>) {
    let limits = Arc::new(Limits {
        pages: Semaphore::new(PAGES_AT_A_TIME),
        uploads: Semaphore::new(UPLOADS_KIB as usize),
    });
    let router = router(&service, &limits);
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let connected: Arc<Mutex<BTreeMap<IpAddr, usize>>> = Arc::default();
    let graceful = hyper_util::server::graceful::GracefulShutdown::new();
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
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
        let peer = Peer(host::canonical(peer.ip()));
        let Some(place) = Place::of(peer, &connected) else { continue };
        let answers = TowerToHyperService::new(router.clone().layer(Extension(peer)));
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS_WITHIN)
            .serve_connection(TokioIo::new(stream), answers);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // The sender is gone, or does not speak HTTP.
            let _ = connection.await;
            drop((slot, place));
        });
    }
    let _ = tokio::time::timeout(STOP_WITHIN, graceful.shutdown()).await;
}

/// A connection among those of its address.
struct Place(IpAddr, Arc<Mutex<BTreeMap<IpAddr, usize>>>);

impl Place {
    /// `None` if the address has too many.
    fn of(Peer(peer): Peer, connected: &Arc<Mutex<BTreeMap<IpAddr, usize>>>) -> Option<Self> {
        let mut all = locked(connected);
        let count = all.entry(peer).or_default();
        (*count < CONNECTIONS_OF_ONE).then(|| {
            *count += 1;
            Self(peer, Arc::clone(connected))
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = locked(&self.1);
        if let Some(count) = all.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.0);
            }
        }
    }
}

fn router(service: &Arc<Service>, limits: &Arc<Limits>) -> axum::Router {
    let mut router = axum::Router::new();
    for route in routes::all() {
        let filter = MethodFilter::try_from(route.method.clone()).expect("routes have methods of HTTP");
        let (service, limits) = (Arc::clone(service), Arc::clone(limits));
        let path = route.path;
        let handler =
            move |Extension(peer): Extension<Peer>, parts: RawPathParams, request: axum::extract::Request| {
                let parts = parts.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                answer(Arc::clone(&service), Arc::clone(&limits), route.clone(), peer, parts, request)
            };
        router = router.route(path, on(filter, handler));
    }
    let unknown = |status: StatusCode, reason: &'static str| {
        let service = Arc::clone(service);
        move |request: axum::extract::Request| {
            let service = Arc::clone(&service);
            async move {
                let (head, body) = request.into_parts();
                discard(body, &head.headers).await;
                refuse(&service, head.uri.path(), Refusal::new(status, reason))
            }
        }
    };
    router
        .fallback(unknown(StatusCode::NOT_FOUND, "there is no page of this name"))
        .method_not_allowed_fallback(unknown(
            StatusCode::METHOD_NOT_ALLOWED,
            "this cannot be done with this page; api/v1/openapi.json says what can",
        ))
}

/// Answers a request, and counts it.
async fn answer(
    service: Arc<Service>,
    limits: Arc<Limits>,
    route: Route,
    peer: Peer,
    parts: BTreeMap<String, String>,
    request: axum::extract::Request,
) -> Response<Body> {
    let began = Instant::now();
    let path = request.uri().path().to_owned();
    let name = route.path;
    let answered = answered(&service, &limits, route, peer, parts, request).await;
    let response = match answered {
        Ok(answer) => answer.into_response(),
        Err(refusal) => refuse(&service, &path, refusal),
    };
    service.metrics.count(name, response.status().as_u16(), began.elapsed());
    response
}

async fn answered(
    service: &Arc<Service>,
    limits: &Limits,
    route: Route,
    peer: Peer,
    parts: BTreeMap<String, String>,
    request: axum::extract::Request,
) -> Result<Answer, Refusal> {
    let (head, body) = request.into_parts();
    let (base, who, length) = match permitted(service, &route, peer, &head) {
        Ok(permitted) => permitted,
        Err(refusal) => {
            discard(body, &head.headers).await;
            return Err(refusal);
        }
    };
    let mut fields = pairs(head.uri.query().unwrap_or_default().as_bytes());
    // Held until the run is on the disk.
    let _memory = limits.uploads.acquire_many(memory_kib(length)).await.map_err(|_| Refusal::ending())?;
    let body = content(body, length).await?;
    if text(&head.headers, header::CONTENT_TYPE.as_str())
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"))
    {
        fields.extend(pairs(&body));
    }
    let request = Request { who, parts, fields, body, base };
    // Uploads wait for the disk together; pages take turns.
    let _page = match request.body.is_empty() {
        true => Some(limits.pages.acquire().await.map_err(|_| Refusal::ending())?),
        false => None,
    };
    let service = Arc::clone(service);
    let answer = tokio::task::spawn_blocking(move || (route.answer)(&service, &request));
    answer.await.unwrap_or_else(|_| {
        let reason = "this page could not be made; the server's output says why";
        Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, reason))
    })
}

/// Decides by its head whether a request is answered. Returns the address of the server as the sender knows it, the sender, and the length
/// of the content.
fn permitted(
    service: &Service,
    route: &Route,
    Peer(peer): Peer,
    head: &Parts,
) -> Result<(String, Who, usize), Refusal> {
    if head.headers.get_all(header::HOST).iter().count() > 1 {
        return Err(Refusal::wrong("the request has several headers 'Host'"));
    }
    let host = host::check(text(&head.headers, "host"), &service.settings.names)?;
    let who = permission::check(service, route.scope, &head.method, &head.headers, peer)?;
    service.rates.count_request(&who)?;
    let scheme =
        text(&head.headers, "x-forwarded-proto").filter(|scheme| *scheme == "https").unwrap_or("http");
    Ok((format!("{scheme}://{host}"), who, length(&head.headers, route)?))
}

/// Memory that an upload of this length may take with what it is decompressed to, in KiB.
fn memory_kib(length: usize) -> u32 {
    match length {
        0..=FORM_MAX => 0,
        length => u32::try_from(length as u64 * (1 + RATIO_MAX) / 1024).unwrap_or(u32::MAX).min(UPLOADS_KIB),
    }
}

/// Reads and forgets the content of a request that is refused: a sender whose connection ends while it sends does not read why. One that
/// asks first has not sent anything.
async fn discard(body: Body, headers: &HeaderMap) {
    if headers.contains_key(header::EXPECT) {
        return;
    }
    // Too much, or too slow: the connection ends.
    let _ = tokio::time::timeout(DISCARD_WITHIN, axum::body::to_bytes(body, DISCARD_MAX)).await;
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn pairs(encoded: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(encoded).into_owned().collect()
}

/// The length of the content, which its sender must announce.
fn length(headers: &HeaderMap, route: &Route) -> Result<usize, Refusal> {
    let most = if route.method == axum::http::Method::PUT { UPLOAD_MAX } else { FORM_MAX };
    let announced = match headers.get(header::CONTENT_LENGTH) {
        None if headers.contains_key(header::TRANSFER_ENCODING) => {
            return Err(Refusal::new(StatusCode::LENGTH_REQUIRED, "send the header 'Content-Length'"));
        }
        None => 0,
        Some(value) => value
            .to_str()
            .ok()
            .and_then(|value| value.parse().ok())
            .ok_or_else(|| Refusal::wrong("the header 'Content-Length' is not a number"))?,
    };
    match announced {
        length if length <= most => Ok(length),
        _ => Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("at most {most} bytes are accepted here"),
        )),
    }
}

async fn content(body: Body, length: usize) -> Result<Vec<u8>, Refusal> {
    let read = tokio::time::timeout(CONTENT_WITHIN, axum::body::to_bytes(body, length)).await;
    match read {
        Ok(Ok(bytes)) if bytes.len() == length => Ok(bytes.to_vec()),
        Ok(_) => Err(Refusal::wrong("the content ended early")),
        Err(_) => Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the content took too long to arrive")),
    }
}

/// A refusal as the sender reads it: JSON for programs, a page for people.
fn refuse(service: &Service, path: &str, refusal: Refusal) -> Response<Body> {
    let content = if routes::is_for_programs(path) {
        Answer::json(&BTreeMap::from([("error", &refusal.reason)]))
    } else {
        let up = "../".repeat(path.matches('/').count().saturating_sub(1));
        let title = refusal.status.canonical_reason().unwrap_or("Refused");
        Answer::page(site::refusal(title, &refusal.reason, &up, &service.about()))
    };
    refusal.into_response(content)
}
