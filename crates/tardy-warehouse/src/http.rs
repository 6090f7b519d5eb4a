//! Requests to a service: bounded in time and size, with an error that names the service.

use std::io;
use std::time::Duration;

use tardy_archive::ArchiveError;
use ureq::http::{Request, Response};
use ureq::{Agent, Body, Error};

/// How long a connection may take at most.
const CONNECT: Duration = Duration::from_secs(10);
/// The most bytes of an answer: more than any run file, and a search of a million runs.
const ANSWER_MAX: u64 = 4 << 30;
/// Bytes of a service's message that are shown.
const MESSAGE_MAX: usize = 400;

/// A service.
#[derive(Debug)]
pub(crate) struct Client {
    agent: Agent,
    /// What it is and where, such as `ClickHouse at http://db:8123`.
    service: String,
    patience: Duration,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status of HTTP.
    pub(crate) status: u16,
    /// Whether ClickHouse marks it as an error in spite of its status.
    pub(crate) has_exception: bool,
    /// All of it.
    pub(crate) body: Vec<u8>,
}

impl Client {
    /// A client that gives up when nothing arrives for `patience`.
    pub(crate) fn new(service: String, patience: Duration) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // An answer that sends a request elsewhere is an error: a password must not follow it.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent("tardy")
            .timeout_resolve(Some(patience.min(CONNECT)))
            .timeout_connect(Some(patience.min(CONNECT)))
            .timeout_per_read(Some(patience))
            .timeout_per_write(Some(patience))
            .build();
        Self { agent: config.new_agent(), service, patience }
    }

    /// Sends a request, and reads all of the answer.
    pub(crate) fn send(&self, request: Request<&[u8]>) -> Result<Answer, ArchiveError> {
        let mut response: Response<Body> = self.agent.run(request).map_err(|error| self.error(&error))?;
        let status = response.status().as_u16();
        let has_exception = response.headers().contains_key("x-clickhouse-exception-code");
        let body = response.body_mut().with_config().limit(ANSWER_MAX).read_to_vec();
        Ok(Answer { status, has_exception, body: body.map_err(|error| self.error(&error))? })
    }

    /// The error of a request that got no whole answer.
    fn error(&self, error: &Error) -> ArchiveError {
        let seconds = self.patience.as_secs_f64();
        let is_late = match error {
            Error::Timeout(_) => true,
            Error::Io(error) => matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock),
            _ => false,
        };
        self.failed(match is_late {
            true => format!(
                "no answer within {seconds} s; check that it runs, or raise 'timeout' in the archive's file"
            ),
            false => format!(
                "no whole answer: {}; check its address and that it runs",
                harmless(&error.to_string())
            ),
        })
    }

    /// An error of the service.
    pub(crate) fn failed(&self, reason: String) -> ArchiveError {
        ArchiveError::Service { service: self.service.clone(), reason }
    }

    /// The error of an answer that refuses.
    pub(crate) fn refused(&self, answer: &Answer) -> ArchiveError {
        let message = harmless(&String::from_utf8_lossy(&answer.body));
        let status = answer.status;
        let advice = match status {
            401 | 403 | 516 => "; check the user and the keys in the archive's file",
            404 => "; check the names in the archive's file",
            _ => "",
        };
        self.failed(format!("it refused (HTTP {status}): {message}{advice}"))
    }
}

/// The beginning of a service's message, on one line and without control characters.
fn harmless(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MESSAGE_MAX).collect();
    text.trim().to_owned()
}
