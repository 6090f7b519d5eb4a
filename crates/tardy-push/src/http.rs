//! Pushing to a server by HTTP: `PUT /api/v1/runs/ADDRESS`, as the server's openapi.json describes it.

use std::time::Duration;

use serde::Deserialize;
use tardy_archive::Address;
use ureq::Agent;

use crate::sender::{Failure, Sender, Token};

/// How long a server may take to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How long it may take for a run.
const ANSWER_WITHIN: Duration = Duration::from_secs(180);
/// For more bytes than this, the server is asked first whether it will take them: it would end the connection while they are sent.
const ASKS_FIRST: usize = 1 << 20;
/// The most characters of a server's reason that are shown.
const REASON_MAX: u64 = 2000;

/// A server.
pub(crate) struct Server {
    address: String,
    token: Option<Token>,
    agent: Agent,
}

impl Server {
    pub(crate) fn new(address: String, token: Option<Token>) -> Self {
        Self { address, token, agent: agent(ANSWER_WITHIN) }
    }
}

/// What sends requests, with `patience` for the whole answer. Redirections are not followed: a token must not follow to another server. In a
/// build with `https`, certificates are those that the system trusts.
pub fn agent(patience: Duration) -> Agent {
    let config = Agent::config_builder()
        .timeout_connect(Some(CONNECT_WITHIN.min(patience)))
        .timeout_global(Some(patience))
        .http_status_as_error(false)
        .max_redirects(0);
    #[cfg(feature = "https")]
    let config = config.tls_config(
        ureq::tls::TlsConfig::builder()
            .unversioned_rustls_crypto_provider(std::sync::Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(ureq::tls::RootCerts::PlatformVerifier)
            .build(),
    );
    config.build().into()
}

impl Sender for Server {
    fn send(&mut self, address: &Address, compressed: &[u8]) -> Result<bool, Failure> {
        let url = format!("{}/api/v1/runs/{address}", self.address);
        let mut request = self.agent.put(&url).content_type("application/gzip");
        if let Some(Token(token)) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if compressed.len() > ASKS_FIRST {
            request = request.header("expect", "100-continue");
        }
        let mut response = request
            .send(compressed)
            .map_err(|error| Failure::Later(format!("{}: {error}", self.address), None))?;
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|value| value.parse().ok()).map(Duration::from_secs);
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(REASON_MAX).read_to_string().unwrap_or_default();
        let answer: Answer = serde_json::from_str(&text).unwrap_or_default();
        match (status, answer) {
            (200 | 201, Answer { address: Some(kept), known: Some(known), .. })
                if kept == address.as_str() =>
            {
                Ok(known)
            }
            (409 | 413 | 415 | 422, Answer { error: Some(reason), .. }) => Err(Failure::Refused(reason)),
            (408 | 429 | 500..=599, answer) => Err(Failure::Later(answer.reason(status), retry_after)),
            (401 | 403, Answer { error: Some(reason), .. }) => Err(Failure::Stopped(reason)),
            (_, answer) => Err(Failure::Later(answer.reason(status), None)),
        }
    }
}

/// What a server of tardy answers. A proxy's or another server's page has nothing of it, whatever its status is.
#[derive(Debug, Default, Deserialize)]
struct Answer {
    address: Option<String>,
    known: Option<bool>,
    error: Option<String>,
}

impl Answer {
    /// The server's own reason, or its status.
    fn reason(self, status: u16) -> String {
        self.error.unwrap_or_else(|| {
            format!("the answer with status {status} is not one of a server of tardy; is the address right?")
        })
    }
}
