//! A server of an archive, for the tests of what it and `tardy push` do.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;

use crate::bench::Bench;

const STEADY: &str = include_str!("../../../tardy-present/tests/runs/steady.run.json");

/// How long anything may take to happen on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A run file with this identity.
pub(crate) fn run_file(id: &str) -> Vec<u8> {
    let mut run: Value = serde_json::from_str(STEADY).unwrap();
    run["origin"]["id"] = json!(id);
    serde_json::to_vec_pretty(&run).unwrap()
}

pub(crate) fn address(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn compressed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Waits until something is true.
pub(crate) fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_true() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A server, which is killed when this is dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) url: String,
    /// `ADDRESS:PORT`.
    pub(crate) host: String,
}

/// An answer of a server.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(one, _)| one == name).map_or("", |(_, value)| value)
    }
}

impl Server {
    pub(crate) fn start(bench: &Bench, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(["serve", "A", "--listen", "127.0.0.1:0"]).args(more).current_dir(bench.path("."));
        Self::of(command)
    }

    /// The server that a command starts.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // Remarks about the archive precede the line with the address.
        while !line.contains("http://") {
            assert!(lines.read_line(&mut line).unwrap() > 0, "{line}");
        }
        let host = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}"));
        let host = host.split('/').next().unwrap().to_owned();
        // Its pipe must not fill up.
        thread::spawn(move || {
            let mut rest = String::new();
            let _ = lines.read_to_string(&mut rest);
        });
        Self { child, url: format!("http://{host}"), host }
    }

    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<(&str, &[u8])>,
    ) -> Answer {
        ask(&self.url, method, path, token, body).unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None, None)
    }

    pub(crate) fn push(&self, token: &str, content: &[u8]) -> Answer {
        let path = format!("/api/v1/runs/{}", address(content));
        self.ask("PUT", &path, Some(token), Some(("application/gzip", &compressed(content))))
    }

    /// What the server answers to these bytes.
    pub(crate) fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = stream.read_to_string(&mut answer);
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn ask(
    url: &str,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: Option<(&str, &[u8])>,
) -> Result<Answer, ureq::Error> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(PATIENCE))
        .build()
        .into();
    let mut request = ureq::http::Request::builder().method(method).uri(format!("{url}{path}"));
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    if let Some((kind, _)) = body {
        request = request.header("content-type", kind);
    }
    let mut response = match body {
        Some((_, body)) => agent.run(request.body(body)?)?,
        None => agent.run(request.body(())?)?,
    };
    let headers = response.headers().iter();
    let headers =
        headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
    Ok(Answer {
        status: response.status().as_u16(),
        headers,
        body: response.body_mut().with_config().limit(1 << 30).read_to_vec()?,
    })
}

pub(crate) fn token(bench: &Bench, name: &str, scopes: &str) -> String {
    let made = bench.run(&["archive", "token", "A", "--make", name, "--scope", scopes]).exits(0);
    made.out.trim().to_owned()
}
