//! Pushing to a server by HTTP: `PUT /api/v1/runs/ADDRESS`, as the server's openapi.json describes it.

use std::time::Duration;

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
        let config = Agent::config_builder()
            .timeout_connect(Some(CONNECT_WITHIN))
            .timeout_global(Some(ANSWER_WITHIN))
            .http_status_as_error(false)
            // A token must not follow to another server.
            .max_redirects(0);
        #[cfg(feature = "https")]
        let config = config.tls_config(
            ureq::tls::TlsConfig::builder().root_certs(ureq::tls::RootCerts::PlatformVerifier).build(),
        );
        Self { address, token, agent: config.build().into() }
    }
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
        match status {
            201 => Ok(false),
            200 => Ok(true),
            409 | 413 | 415 | 422 => Err(Failure::Refused(reason(status, &text))),
            408 | 429 | 500..=599 => Err(Failure::Later(reason(status, &text), retry_after)),
            _ => Err(Failure::Stopped(reason(status, &text))),
        }
    }
}

/// The server's own reason, or its status.
fn reason(status: u16, text: &str) -> String {
    let said = text.strip_prefix("{\"error\":\"").and_then(|rest| rest.strip_suffix("\"}"));
    match said {
        Some(said) => said.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => format!("the server answered with status {status}; is it a server of tardy?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_reason_is_shown_or_its_status() {
        assert_eq!(reason(422, r#"{"error":"it is \"bad\""}"#), "it is \"bad\"");
        assert!(reason(404, "<html>").contains("404"));
    }
}
