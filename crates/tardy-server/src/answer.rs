//! What is sent back: a page, data, or a refusal.

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode, header};
use serde::Serialize;
use tardy_archive::ArchiveError;
use tardy_site::SiteFile;

/// The policy of everything that is not a page with a policy of its own: nothing is loaded or run.
const STRICT: &str = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
/// Of pages, which have a policy in their head that allows their own style and script by hash.
const PAGE: &str = "frame-ancestors 'none'";

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    content_type: &'static str,
    policy: &'static str,
    /// Another page to go to.
    location: Option<String>,
    body: Bytes,
}

impl Answer {
    /// A page.
    pub(crate) fn page(file: SiteFile) -> Self {
        Self::kept_page(file.content.into())
    }

    /// A page that is kept: all who read it share its bytes.
    pub(crate) fn kept_page(content: Bytes) -> Self {
        Self::of("text/html; charset=utf-8", content).with_policy(PAGE)
    }

    /// Data as JSON.
    pub(crate) fn json(value: &impl Serialize) -> Self {
        let text = serde_json::to_vec(value).expect("answers have finite numbers and text keys only");
        Self::of("application/json", text)
    }

    /// Bytes of this type.
    pub(crate) fn of(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status: StatusCode::OK, content_type, policy: STRICT, location: None, body: body.into() }
    }

    /// The same with another status.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    fn with_policy(self, policy: &'static str) -> Self {
        Self { policy, ..self }
    }

    /// Tells the browser to show another page of this server, relative to the one that was asked for.
    pub(crate) fn go_to(location: &str) -> Self {
        let empty = Self::of("text/plain", Vec::new()).with_status(StatusCode::SEE_OTHER);
        Self { location: Some(location.to_owned()), ..empty }
    }

    /// As a response of HTTP.
    pub(crate) fn into_response(self) -> Response<Body> {
        let mut response = Response::builder()
            .status(self.status)
            .header(header::CONTENT_TYPE, self.content_type)
            .header(header::CONTENT_SECURITY_POLICY, self.policy)
            .header(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
            .header(header::REFERRER_POLICY, "same-origin")
            .header(header::CACHE_CONTROL, "no-store");
        if let Some(location) = self.location {
            response = response.header(header::LOCATION, location);
        }
        response.body(Body::from(self.body)).expect("all headers are constants or paths of pages")
    }
}

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The status.
    pub(crate) status: StatusCode,
    /// What is wrong and what to do, as one or two sentences.
    pub(crate) reason: String,
    /// In how many seconds to ask again, if that helps.
    pub(crate) retry_after_s: Option<u64>,
}

impl Refusal {
    /// A refusal for this reason.
    pub(crate) fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into(), retry_after_s: None }
    }

    /// The same, with the time after which the request may be sent again.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after_s: Some(seconds), ..self }
    }

    /// The request itself is wrong.
    pub(crate) fn wrong(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, reason)
    }

    /// There is nothing of this name.
    pub(crate) fn unknown(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, reason)
    }

    /// The server ends.
    pub(crate) fn ending() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the server ends").retry_after(30)
    }

    /// As a response of HTTP with this answer as its content.
    pub(crate) fn into_response(self, content: Answer) -> Response<Body> {
        let mut response = content.with_status(self.status).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = "Basic realm=\"tardy: any name, and a token as the password\", charset=\"UTF-8\"";
            headers.insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static(challenge));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// An error of the archive: what the asker did wrong, or what is wrong with the server, whose paths are not shown.
impl From<ArchiveError> for Refusal {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::Unknown(address) => {
                Self::unknown(format!("the archive does not have the run {address}"))
            }
            ArchiveError::InProgress
            | ArchiveError::NotARun(_)
            | ArchiveError::Fault(_)
            | ArchiveError::TooLong { .. } => Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
            ArchiveError::TooManyConditions { .. } => Self::wrong(error.to_string()),
            ArchiveError::OnlyRead => Self::new(StatusCode::FORBIDDEN, error.to_string()),
            ArchiveError::OtherContent { .. } => Self::new(StatusCode::CONFLICT, error.to_string()),
            ArchiveError::Service { .. } => {
                eprintln!("tardy serve: {error}");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "the archive's storage does not answer")
                    .retry_after(30)
            }
            error if error.is_full() => {
                eprintln!("tardy serve: {error}");
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "the disk of the archive is full")
                    .retry_after(300)
            }
            ArchiveError::Damaged { .. } => {
                eprintln!("tardy serve: {error}");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "the file of this run is damaged; 'tardy archive verify' names every damaged run",
                )
            }
            error => {
                eprintln!("tardy serve: {error}");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "the archive cannot be used; the server's output says why",
                )
                .retry_after(60)
            }
        }
    }
}
