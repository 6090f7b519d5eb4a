//! Answering a request: reading it within limits, deciding whether it is answered, and sending what is.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use axum::extract::{Extension, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use axum::routing::{MethodFilter, on};
use tardy_analyse::stop;
use tardy_site::archive as site;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::host;
use crate::access::who::Who;
use crate::answer::{Answer, Refusal};
use crate::api::push::{UPLOAD_MAX, unpacked_max};
use crate::connections::{Peer, Place, Work};
use crate::pace::Pace;
use crate::permission;
use crate::request::Request;
use crate::routes::{self, Route};
use crate::service::Service;
use crate::settings::Allowed;

/// Pages that are made at a time.
const PAGES_AT_A_TIME: usize = 8;
/// Memory for uploads as they arrive, in KiB.
const ARRIVING_KIB: usize = 128 << 10;
/// Memory for what they are decompressed to, in KiB.
const UNPACKING_KIB: usize = 512 << 10;
/// The most bytes of a refused request that are read.
const DISCARD_MAX: usize = 1 << 20;
/// How long that may take.
const DISCARD_WITHIN: Duration = Duration::from_secs(5);
/// The most bytes of a form or of JSON that is sent.
const FORM_MAX: usize = 64 << 10;

/// What requests share besides the service.
pub(crate) struct Limits {
    allowed: Allowed,
    pages: Arc<Semaphore>,
    arriving: Arc<Semaphore>,
    unpacking: Arc<Semaphore>,
}

impl Limits {
    pub(crate) fn new(allowed: Allowed) -> Self {
        Self {
            allowed,
            pages: Arc::new(Semaphore::new(PAGES_AT_A_TIME)),
            arriving: Arc::new(Semaphore::new(ARRIVING_KIB)),
            unpacking: Arc::new(Semaphore::new(UNPACKING_KIB)),
        }
    }
}

/// What answers requests.
pub(crate) fn router(service: &Arc<Service>, limits: &Arc<Limits>, routes: Vec<Route>) -> axum::Router {
    let mut router = axum::Router::new();
    for route in routes {
        let filter = MethodFilter::try_from(route.method.clone()).expect("routes have methods of HTTP");
        let (service, limits) = (Arc::clone(service), Arc::clone(limits));
        let path = route.path;
        let handler = move |Extension(peer): Extension<Peer>,
                            Extension(place): Extension<Arc<Place>>,
                            parts: RawPathParams,
                            request: axum::extract::Request| {
            let parts = parts.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            let sender = Sender { peer, place };
            answer(Arc::clone(&service), Arc::clone(&limits), route.clone(), sender, parts, request)
        };
        router = router.route(path, on(filter, handler));
    }
    let unknown = |status: StatusCode, reason: &'static str| {
        let service = Arc::clone(service);
        move |Extension(peer): Extension<Peer>, request: axum::extract::Request| {
            let service = Arc::clone(&service);
            async move {
                let (head, body) = request.into_parts();
                let refusal =
                    refused(&service, peer, Refusal::new(status, reason), body, &head.headers).await;
                refuse(&service, head.uri.path(), refusal)
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

/// Who sent a request, and by which connection.
struct Sender {
    peer: Peer,
    place: Arc<Place>,
}

/// Answers a request, and counts it.
async fn answer(
    service: Arc<Service>,
    limits: Arc<Limits>,
    route: Route,
    sender: Sender,
    parts: BTreeMap<String, String>,
    request: axum::extract::Request,
) -> Response<Body> {
    let began = Instant::now();
    let path = request.uri().path().to_owned();
    let name = route.path;
    let answered = answered(&service, &limits, route, sender, parts, request).await;
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
    Sender { peer, place }: Sender,
    parts: BTreeMap<String, String>,
    request: axum::extract::Request,
) -> Result<Answer, Refusal> {
    let (head, body) = request.into_parts();
    let (base, who, length) = match permitted(service, &route, peer, &head) {
        Ok(permitted) => permitted,
        Err(refusal) => return Err(refused(service, peer, refusal, body, &head.headers).await),
    };
    let mut fields = pairs(head.uri.query().unwrap_or_default().as_bytes());
    // Held until the run is on the disk.
    let (body, _arrived) = content(body, length, limits).await?;
    let work = place.work();
    let unpacked = if length > FORM_MAX { unpacked_max(length).div_ceil(1024) as u32 } else { 0 };
    let _unpacking = limits.unpacking.acquire_many(unpacked).await.map_err(|_| Refusal::ending())?;
    if text(&head.headers, header::CONTENT_TYPE.as_str())
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"))
    {
        fields.extend(pairs(&body));
    }
    let request = Request { who, parts, fields, body, base };
    // Changes wait for the disk together, and end as they have begun; pages take turns.
    if route.method != Method::GET {
        return made(service, route, request, (None, work), None).await;
    }
    let page = Arc::clone(&limits.pages).acquire_owned();
    let page = tokio::time::timeout(limits.allowed.page_within, page).await.map_err(|_| busy())?;
    let page = page.map_err(|_| Refusal::ending())?;
    made(service, route, request, (Some(page), work), Some(limits.allowed.page_within)).await
}

/// What the route's function answers. `held` is released when it has ended, also if nobody waits for it any more. With `within`, it ends
/// when that time is over, or the sender has left.
async fn made(
    service: &Arc<Service>,
    route: Route,
    request: Request,
    held: (Option<OwnedSemaphorePermit>, Work),
    within: Option<Duration>,
) -> Result<Answer, Refusal> {
    /// Whether the sender has left, which ends the future of its request.
    struct Left(Arc<AtomicBool>);
    impl Drop for Left {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let left = Left(Arc::default());
    let has_left = Arc::clone(&left.0);
    let end = within.map(|within| Instant::now() + within);
    let service = Arc::clone(service);
    let made = tokio::task::spawn_blocking(move || {
        let _held = held;
        let answer = || (route.answer)(&service, &request);
        match end {
            None => Ok(answer()),
            Some(end) => {
                stop::unless(move || has_left.load(Ordering::Relaxed) || Instant::now() >= end, answer)
            }
        }
    });
    let made = made.await;
    drop(left);
    match made {
        Ok(Ok(answer)) => answer,
        Ok(Err(stop::Stopped)) => Err(busy()),
        // It panicked.
        Err(_) => {
            let reason = "this page could not be made; the server's output says why";
            Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, reason))
        }
    }
}

/// A page took too long, or could not be begun.
fn busy() -> Refusal {
    let reason = "the page was not made in time; ask for less of it, or later";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, reason).retry_after(60)
}

/// Counts a request that is refused as its sender's, and reads its content.
async fn refused(
    service: &Service,
    Peer(peer): Peer,
    refusal: Refusal,
    body: Body,
    headers: &HeaderMap,
) -> Refusal {
    if let Err(too_many) = service.rates.count_request(&Who::Anyone(peer)) {
        return too_many;
    }
    discard(body, headers).await;
    refusal
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
    if route.method != Method::GET && !service.settings.may_write {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "this server may only read the archive"));
    }
    service.rates.count_request(&who)?;
    let scheme =
        text(&head.headers, "x-forwarded-proto").filter(|scheme| *scheme == "https").unwrap_or("http");
    Ok((format!("{scheme}://{host}"), who, length(&head.headers, route)?))
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
    let most = if route.method == Method::PUT { UPLOAD_MAX } else { FORM_MAX };
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

/// The content of a request, and the memory that it takes, which is reserved as it arrives.
async fn content(
    mut body: Body,
    length: usize,
    limits: &Limits,
) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), Refusal> {
    let mut content = Vec::new();
    let mut memory: Option<OwnedSemaphorePermit> = None;
    let mut pace = Pace::new(limits.allowed.stall_within);
    let end = tokio::time::Instant::now() + limits.allowed.content_within;
    let too_slow = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the content took too long to arrive");
    loop {
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let since = Instant::now();
        let frame = tokio::time::timeout_at(end.min(pace.end()), frame).await.map_err(too_slow)?;
        let Some(frame) = frame else { break };
        let early = || Refusal::wrong("the content ended early");
        let Ok(part) = frame.map_err(|_| early())?.into_data() else { continue };
        pace.moved(part.len(), since.elapsed());
        content.extend_from_slice(&part);
        if content.len() > length {
            return Err(Refusal::wrong("the content is longer than announced"));
        }
        if length > FORM_MAX {
            let reserved = memory.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            let more = content.capacity().div_ceil(1024).saturating_sub(reserved) as u32;
            // Uploads that waited for each other would wait for ever.
            let more = Arc::clone(&limits.arriving).try_acquire_many_owned(more).map_err(|_| {
                let reason = "other uploads take all memory for them";
                Refusal::new(StatusCode::SERVICE_UNAVAILABLE, reason).retry_after(10)
            })?;
            match &mut memory {
                Some(memory) => memory.merge(more),
                None => memory = Some(more),
            }
        }
    }
    match content.len() == length {
        true => Ok((content, memory)),
        false => Err(Refusal::wrong("the content ended early")),
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
