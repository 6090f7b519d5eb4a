//! `tardy serve` and `tardy push`: what is kept, who may do what, what hostile requests get, and what survives a killed server.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::bench::Bench;
use crate::full_disk::on_a_small_disk;

const STEADY: &str = include_str!("../../../tardy-present/tests/runs/steady.run.json");
/// How long anything may take to happen on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run file with this identity.
fn run_file(id: &str) -> Vec<u8> {
    let mut run: Value = serde_json::from_str(STEADY).unwrap();
    run["origin"]["id"] = json!(id);
    serde_json::to_vec_pretty(&run).unwrap()
}

fn address(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn compressed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Waits until something is true.
fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_true() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A server, which is killed when this is dropped.
struct Server {
    child: Child,
    url: String,
    /// `ADDRESS:PORT`.
    host: String,
}

/// An answer of a server.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(one, _)| one == name).map_or("", |(_, value)| value)
    }
}

impl Server {
    fn start(bench: &Bench, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tardy"))
            .args(["serve", "A", "--listen", "127.0.0.1:0"])
            .args(more)
            .current_dir(bench.path("."))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let host = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}"));
        let host = host.split('/').next().unwrap().to_owned();
        // Its pipe must not fill up.
        thread::spawn(move || {
            let mut rest = String::new();
            let _ = lines.read_to_string(&mut rest);
        });
        Self { child, url: format!("http://{host}"), host }
    }

    fn ask(&self, method: &str, path: &str, token: Option<&str>, body: Option<(&str, &[u8])>) -> Answer {
        ask(&self.url, method, path, token, body).unwrap()
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None, None)
    }

    fn push(&self, token: &str, content: &[u8]) -> Answer {
        let path = format!("/api/v1/runs/{}", address(content));
        self.ask("PUT", &path, Some(token), Some(("application/gzip", &compressed(content))))
    }

    /// What the server answers to these bytes.
    fn raw(&self, request: &str) -> String {
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

fn ask(
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

fn token(bench: &Bench, name: &str, scopes: &str) -> String {
    let made = bench.run(&["archive", "token", "A", "--make", name, "--scope", scopes]).exits(0);
    made.out.trim().to_owned()
}

#[test]
fn a_run_is_pushed_found_shown_compared_and_deleted() {
    let bench = Bench::new();
    let server = Server::start(&bench, &[]);
    let (push, admin) = (token(&bench, "rack", "push"), token(&bench, "anna", "admin"));
    let files = ["one", "two"].map(run_file);
    for (name, content) in ["one", "two"].iter().zip(&files) {
        fs::write(bench.path(&format!("{name}.run.json")), content).unwrap();
    }
    fs::write(bench.path("token"), format!("{push}\n")).unwrap();
    let arguments =
        ["push", &server.url, "one.run.json", "two.run.json", "--token-file", "token", "--spool", "S"];
    let pushed = bench.run(&arguments).exits(0).err;
    assert!(pushed.contains("2 runs pushed"), "{pushed}");
    let pushed = bench.run(&arguments).exits(0).err;
    assert!(pushed.contains("2 runs pushed, 2 of them there before"), "{pushed}");

    let [one, two] = files.each_ref().map(|content| address(content));
    let runs = server.get("/api/v1/runs?page_size=1").json();
    assert_eq!((runs["total"].as_u64(), runs["runs"].as_array().unwrap().len()), (Some(2), 1));
    let next = runs["next"].as_str().unwrap();
    let rest = server.get(&format!("/api/v1/runs?after={next}")).json();
    assert_eq!(rest["runs"].as_array().unwrap().len(), 1);
    assert_ne!(rest["runs"][0]["address"], runs["runs"][0]["address"]);
    let boards = server.get("/api/v1/boards").json();
    let board = format!("/{}", boards[0]["page"].as_str().unwrap());
    let kernel = format!("kernels/{}.html", runs["runs"][0]["kernel"].as_str().unwrap());
    let compare = format!("/compare.html?base={one}&candidate={two}");
    let report = format!("/runs/{one}.html");
    for page in [
        "/",
        "/index.html",
        &board,
        "/published.html",
        "/search.html?kernel=6",
        &compare,
        &report,
        "/alerts.html",
    ] {
        let answer = server.get(page);
        assert_eq!(answer.status, 200, "{page}: {}", answer.text());
        assert!(answer.text().contains("Content-Security-Policy"), "{page}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
    assert!(server.get("/").text().contains(&kernel.replace('/', "&#x2f;")));
    assert_eq!(server.get(&format!("/{kernel}")).status, 200);
    let answer = server.get(&format!("/runs/{one}.run.json.gz"));
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut content).unwrap();
    assert_eq!(content, files[0], "the file is what was pushed");
    let metrics = server.get("/metrics").text();
    assert!(metrics.contains("tardy_board_runs{") && metrics.ends_with("# EOF\n"), "{metrics}");

    let gone = server.ask("DELETE", &format!("/api/v1/runs/{one}"), Some(&admin), None);
    assert_eq!(gone.status, 204);
    assert_eq!(server.get(&report).status, 404);
    let audit = bench.run(&["archive", "audit", "A", "--json"]).exits(0).out;
    let audit: Value = serde_json::from_str(&audit).unwrap();
    let done: Vec<&str> =
        audit.as_array().unwrap().iter().map(|line| line["action"].as_str().unwrap()).collect();
    assert_eq!(
        done,
        ["token-made", "token-made", "pushed", "pushed", "pushed-again", "pushed-again", "deleted"]
    );
    assert_eq!(audit[6]["who"], "anna");
    assert!(!fs::read_to_string(bench.path("A/server/tokens.json")).unwrap().contains(&admin));
}

#[test]
fn what_a_request_may_not_do_is_refused() {
    let bench = Bench::new();
    let server = Server::start(&bench, &["--private"]);
    let [push, read] = ["push", "read"].map(|scope| token(&bench, scope, scope));
    let content = run_file("one");
    let path = format!("/api/v1/runs/{}", address(&content));
    let put = |token: &str, path: &str, body: &[u8]| {
        let answer = server.ask("PUT", path, Some(token), Some(("application/gzip", body)));
        (answer.status, answer.text())
    };
    assert_eq!(server.get("/").status, 401);
    assert!(server.get("/").header("www-authenticate").starts_with("Basic"));
    assert_eq!(server.ask("GET", "/", Some(&read), None).status, 200);
    assert_eq!(server.ask("GET", "/", Some(&push), None).status, 403);
    assert_eq!(server.ask("GET", "/", Some("tardy_guess"), None).status, 401);
    assert_eq!(put(&read, &path, &compressed(&content)).0, 403);
    assert_eq!(server.ask("DELETE", &path, Some(&push), None).status, 403);

    let wrong = |body: &[u8], address: &str| put(&push, &format!("/api/v1/runs/{address}"), body);
    let (status, reason) = wrong(&compressed(b"{}"), &address(&content));
    assert!(status == 422 && reason.contains("SHA-256"), "{reason}");
    let (status, reason) = wrong(b"{}", &address(b"{}"));
    assert!(status == 422, "{reason}");
    let cut = compressed(&content);
    assert_eq!(wrong(&cut[..cut.len() / 2], &address(&content)).0, 422, "half an upload");
    let mut newer: Value = serde_json::from_slice(&content).unwrap();
    newer["schema_version"] = json!(9999);
    let newer = serde_json::to_vec(&newer).unwrap();
    let (status, reason) = wrong(&newer, &address(&newer));
    assert!(status == 422 && reason.contains("9999"), "{reason}");
    let mut running: Value = serde_json::from_slice(&content).unwrap();
    running["progress"]["state"] = json!("running");
    let running = serde_json::to_vec(&running).unwrap();
    let (status, reason) = wrong(&running, &address(&running));
    assert!(status == 422 && reason.contains("in progress"), "{reason}");
    let zeros = vec![b' '; 8 << 20];
    let (status, reason) = wrong(&compressed(&zeros), &address(&zeros));
    assert!(status == 422 && reason.contains("decompressed"), "{reason}");
    let host = &server.host;
    let large = server.raw(&format!(
        "PUT {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {push}\r\nContent-Length: 17000000\r\nExpect: 100-continue\r\n\r\n"
    ));
    assert!(large.starts_with("HTTP/1.1 413"), "{large}");
    for place in ["..%2f..%2fetc%2fpasswd", "x", "", &"A".repeat(64)] {
        assert!(matches!(wrong(&content, place).0, 400 | 404 | 405), "{place}");
    }
    for path in [
        "/runs/..%2f..%2ftardy-archive.json",
        "/boards/..%2f..%2fserver%2ftokens.json",
        "/server/tokens.json",
        "/runs/x.html",
    ] {
        assert_eq!(server.ask("GET", path, Some(&read), None).status, 404, "{path}");
    }
    let misspelt = server.ask("GET", "/api/v1/runs?boards=x", Some(&read), None);
    assert!(misspelt.status == 400 && misspelt.text().contains("'boards'"), "{}", misspelt.text());
    let listed = server.ask("GET", "/api/v1/runs", Some(&read), None).json();
    assert_eq!(listed["total"], 0, "nothing of it is in the archive");

    let rebound = server.raw("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert!(rebound.starts_with("HTTP/1.1 421"), "{rebound}");
    let cross_site = server.raw(&format!(
        "POST /alerts/x.html HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ));
    assert!(cross_site.starts_with("HTTP/1.1 403"), "{cross_site}");
    let nonsense = server.raw("not HTTP\r\n\r\n");
    assert!(nonsense.is_empty() || nonsense.starts_with("HTTP/1.1 400"), "{nonsense}");

    bench.run(&["archive", "token", "A", "--revoke", "read"]).exits(0);
    assert_eq!(server.ask("GET", "/", Some(&read), None).status, 401, "at once");
    let guesses: Vec<u16> =
        (0..12).map(|_| server.ask("GET", "/", Some("tardy_guess"), None).status).collect();
    assert_eq!(guesses[11], 429);
    assert_eq!(put(&push, &path, &compressed(&content)).0, 201, "known senders are not held up");
}

#[test]
fn an_alert_is_raised_told_and_triaged() {
    let bench = Bench::new();
    bench
        .run(&[
            "archive",
            "add",
            "A",
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run_files/timerlat.run.json"),
        ])
        .exits(0);
    let hook = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", hook.local_addr().unwrap());
    fs::create_dir_all(bench.path("A/server")).unwrap();
    let rules = "[[rule]]\nname = \"loop <b>\"\nrequire = \"max<1us\"\n";
    fs::write(bench.path("A/server/alerts.toml"), format!("{rules}[[webhook]]\nurl = \"{url}\"\n")).unwrap();
    let server = Server::start(&bench, &[]);
    let alerts = || server.get("/api/v1/alerts?state=open").json();
    until("the newest run raises an alert", || !alerts().as_array().unwrap().is_empty());
    let known = || fs::read_to_string(bench.path("A/server/alerts.jsonl")).unwrap().contains(&url);
    until("the webhook is known", known);

    let push = token(&bench, "rack", "push");
    let content = run_file("one");
    assert_eq!(server.push(&push, &content).status, 201);
    let message = loop {
        let (mut stream, _) = hook.accept().unwrap();
        let told = read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        let message: Value = serde_json::from_str(told.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let alerts = message["alerts"].as_array().unwrap();
        if alerts.iter().any(|alert| alert["last_run"] == address(&content)) {
            break message;
        }
        // The first alert arrives too, unless it was raised before the webhook was known.
        assert!(told.contains("timerlat"), "{told}");
    };

    let id = message["alerts"][0]["id"].as_str().unwrap().to_owned();
    let page = format!("/alerts/{id}.html");
    let text = server.get(&page).text();
    assert!(text.contains("loop &lt;b&gt;") && text.contains("form-action 'self'"), "{text}");
    let feed = server.get("/alerts.atom");
    assert!(feed.text().contains(&page) && feed.header("content-type").starts_with("application/atom+xml"));
    let triage = token(&bench, "anna", "triage,read");
    let body = ("application/x-www-form-urlencoded", &b"state=fixed&note=a+new+cable"[..]);
    assert_eq!(server.ask("POST", &page, None, Some(body)).status, 401);
    let set = server.ask("POST", &page, Some(&triage), Some(body));
    assert_eq!((set.status, set.header("location")), (303, format!("{id}.html").as_str()));
    let wrong = server.ask(
        "POST",
        &format!("/api/v1/alerts/{id}"),
        Some(&triage),
        Some(("application/json", b"{\"state\":\"gone\"}")),
    );
    assert!(wrong.status == 400 && wrong.text().contains("acknowledged"), "{}", wrong.text());
    let runs_before = server.get("/api/v1/runs").json();
    drop(server);

    let server = Server::start(&bench, &[]);
    let alerts = server.get("/api/v1/alerts?state=fixed").json();
    assert_eq!(
        alerts[0]["notes"][0],
        json!({"at": alerts[0]["notes"][0]["at"], "by": "anna", "state": "fixed", "text": "a new cable"})
    );
    assert_eq!(server.get("/api/v1/runs").json(), runs_before, "a state changes no verdict");
}

/// A request with a body of the length that it announces.
fn read_request(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut text = String::new();
    let mut byte = [0];
    let is_whole = |text: &str| {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head
            .to_lowercase()
            .split("content-length: ")
            .nth(1)?
            .lines()
            .next()?
            .trim()
            .parse::<usize>()
            .ok()?;
        Some(body.len() >= length)
    };
    while is_whole(&text) != Some(true) {
        stream.read_exact(&mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
    text
}

#[test]
fn runs_wait_while_the_server_is_away_and_are_pushed_once() {
    let bench = Bench::new();
    fs::write(bench.path("one.run.json"), run_file("one")).unwrap();
    // Nothing listens on a port that was just released.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let waiting = bench.run(&["push", &url, "one.run.json", "--spool", "S"]).exits(1).err;
    assert!(
        waiting.contains("1 run waits in S/")
            && waiting.contains("the next 'tardy push' to the same address pushes them"),
        "{waiting}"
    );
    fs::remove_file(bench.path("one.run.json")).unwrap();
    drop(Server::start(&bench, &[]));
    let secret = token(&bench, "rack", "push");
    fs::write(bench.path("token"), &secret).unwrap();
    let server = Server::start(&bench, &[]);
    // The spool of another target is another one; the same run is moved to it by its file.
    let spool = fs::read_dir(bench.path("S")).unwrap().next().unwrap().unwrap().path();
    let mut file = fs::read_dir(&spool).unwrap().map(|entry| entry.unwrap().path());
    let file = file.find(|path| path.extension().is_some_and(|end| end == "gz")).unwrap();
    let pushed = bench.run(&[
        "push",
        &server.url,
        file.to_str().unwrap(),
        "--token-file",
        "token",
        "--spool",
        "T",
        "--json",
    ]);
    let pushed: Value = serde_json::from_str(&pushed.exits(0).out).unwrap();
    assert_eq!((pushed["pushed"].as_u64(), pushed["waiting"].as_u64()), (Some(1), Some(0)));
    let again: Value = serde_json::from_str(
        &bench.run(&["push", &server.url, "--token-file", "token", "--spool", "T", "--json"]).exits(0).out,
    )
    .unwrap();
    assert_eq!(again["pushed"], 0, "what was pushed does not wait");
    let unknown = bench.run(&["push", &server.url, file.to_str().unwrap(), "--spool", "U"]).exits(1).err;
    assert!(unknown.contains("needs a token with the scope 'push'"), "{unknown}");
}

/// Answers each connection to the listener with these bytes, until the process ends.
fn always_answers(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            // A compressed run is not text.
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
                    length = text.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            reader.read_exact(&mut vec![0; length]).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

#[test]
fn an_answer_of_something_else_does_not_acknowledge_a_run() {
    let bench = Bench::new();
    fs::write(bench.path("one.run.json"), run_file("one")).unwrap();
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>",
        "HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 201 Created\r\nContent-Length: 31\r\nConnection: close\r\n\r\n{\"address\":\"00\",\"known\":false}",
        "HTTP/1.1 422 Refused\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>",
    ] {
        let url = always_answers(answer);
        let printed = bench.run(&["push", &url, "one.run.json", "--spool", "S"]).exits(1).err;
        assert!(
            printed.contains("1 run waits") && printed.contains("is the address right?"),
            "{answer}: {printed}"
        );
    }
    let empty = bench.path("empty.run.json");
    fs::write(&empty, "").unwrap();
    let damaged =
        bench.run(&["push", "http://127.0.0.1:9", empty.to_str().unwrap(), "--spool", "T"]).exits(1).err;
    assert!(damaged.contains("empty.run.json"), "{damaged}");
    let no_token = ["push", "http://127.0.0.1:9", "one.run.json", "--spool", "U", "--token-file", "missing"];
    assert!(bench.run(&no_token).exits(1).err.contains("missing"));
    assert_eq!(
        bench
            .run(&["push", "http://127.0.0.1:9", "--spool", "U", "--json"])
            .exits(1)
            .out
            .matches("\"waiting\": 1")
            .count(),
        1,
        "the run waits whatever is wrong with the token"
    );
}

#[test]
fn an_archive_has_one_server_and_no_endless_names() {
    let bench = Bench::new();
    let server = Server::start(&bench, &[]);
    let second = bench.run(&["serve", "A", "--listen", "127.0.0.1:0"]).exits(1).err;
    assert!(second.contains("another server has the archive A"), "{second}");
    let push = token(&bench, "rack", "push");
    let mut run: Value = serde_json::from_slice(&run_file("long")).unwrap();
    run["origin"]["host"] = json!("x".repeat(5000));
    let refused = server.push(&push, &serde_json::to_vec(&run).unwrap());
    assert!(refused.status == 422 && refused.text().contains("at most 1024"), "{}", refused.text());
    let missing = bench.run(&["archive", "token", "B", "--make", "x", "--scope", "push"]).exits(1).err;
    assert!(missing.contains("B is not an archive") && !bench.path("B").exists(), "{missing}");
}

#[test]
fn runs_that_arrive_while_the_rules_are_wrong_are_looked_at_later() {
    let bench = Bench::new();
    let server = Server::start(&bench, &[]);
    let push = token(&bench, "rack", "push");
    let late: Value = serde_json::from_slice(include_bytes!("../run_files/timerlat.run.json")).unwrap();
    let of = |id: &str, day: &str| {
        let mut run = late.clone();
        run["origin"]["id"] = json!(id);
        run["origin"]["started_at"] = json!(format!("{day}T00:00:00Z"));
        serde_json::to_vec(&run).unwrap()
    };
    let rules = bench.path("A/server/alerts.toml");
    fs::write(&rules, "[[rule").unwrap();
    until("the page says what is wrong", || {
        server.get("/alerts.html").text().contains("No alerts are raised until")
    });
    let first = of("first", "2026-01-01");
    for content in [&first, &of("second", "2026-01-02")] {
        assert_eq!(server.push(&push, content).status, 201);
    }
    fs::write(&rules, "[[rule]]\nname = \"loop\"\nrequire = \"max<1us\"\n").unwrap();
    let alerts = || server.get("/api/v1/alerts").json();
    until("both runs are in the alert", || alerts()[0]["runs"] == 2);
    assert_eq!(alerts()[0]["run"], address(&first));
}

/// Pushes from several threads until `acknowledged` have an answer, kills the server, and returns what was acknowledged.
fn push_and_kill(server: &mut Server, token: &str, round: usize, acknowledged: usize) -> BTreeSet<String> {
    let kept = Mutex::new(BTreeSet::new());
    let next = AtomicUsize::new(0);
    let url = server.url.clone();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let content = run_file(&format!("{round} {number}"));
                    let path = format!("/api/v1/runs/{}", address(&content));
                    let body = compressed(&content);
                    let answer = ask(&url, "PUT", &path, Some(token), Some(("application/gzip", &body)));
                    match answer {
                        Ok(answer) if matches!(answer.status, 200 | 201) => {
                            kept.lock().unwrap().insert(address(&content));
                        }
                        // The server is gone.
                        _ => return,
                    }
                }
            });
        }
        until("runs are acknowledged", || kept.lock().unwrap().len() >= acknowledged);
        server.child.kill().unwrap();
        server.child.wait().unwrap();
    });
    kept.into_inner().unwrap()
}

/// Kills a server this often while runs are pushed to it.
fn kill_rounds(rounds: usize) {
    let bench = Bench::new();
    let mut acknowledged = BTreeSet::new();
    let mut secret = None;
    for round in 0..rounds {
        let mut server = Server::start(&bench, &[]);
        let secret = secret.get_or_insert_with(|| token(&bench, "rack", "push"));
        // The moment is a different one each time: after 1 to 37 runs, between the steps of whatever is being written.
        acknowledged.extend(push_and_kill(&mut server, secret, round, 1 + (round * 17) % 37));
    }
    let server = Server::start(&bench, &[]);
    let listed = bench.run(&["list", "A", "--json"]).exits(0).out;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let found: Vec<String> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| {
            run["file"]
                .as_str()
                .unwrap()
                .trim_start_matches("A/runs/")
                .trim_end_matches(".run.json.gz")
                .replace('/', "")
        })
        .collect();
    let once: BTreeSet<String> = found.iter().cloned().collect();
    assert_eq!(once.len(), found.len(), "none is there twice");
    let lost: Vec<&String> = acknowledged.difference(&once).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged runs are lost", lost.len(), acknowledged.len());
    assert_eq!(server.get("/api/v1/runs").json()["total"], found.len());
    bench.run(&["archive", "verify", "A"]).exits(0);
    println!("{rounds} kills: {} runs acknowledged, {} there, none twice", acknowledged.len(), found.len());
}

#[test]
fn what_was_acknowledged_survives_kills() {
    kill_rounds(5);
}

#[test]
#[ignore = "a hundred kills"]
fn long_what_was_acknowledged_survives_a_hundred_kills() {
    kill_rounds(100);
}

#[test]
fn a_full_disk_acknowledges_nothing() {
    let bench = Bench::new();
    for number in 0..40 {
        // What differs does not compress.
        let noise: Vec<String> = (0..600).map(|at| address(format!("{number} {at}").as_bytes())).collect();
        let mut run: Value = serde_json::from_slice(&run_file(&format!("run {number}"))).unwrap();
        run["origin"]["command"] = json!(noise);
        fs::write(bench.path(&format!("{number}.run.json")), serde_json::to_vec(&run).unwrap()).unwrap();
    }
    let script = "$TARDY serve disk/A --listen 127.0.0.1:0 2>err & server=$!; \
        until grep -q http err; do :; done; url=http://$(sed 's#.*http://\\([^/]*\\)/.*#\\1#;q' err); \
        $TARDY archive token disk/A --make t --scope push >token 2>/dev/null; \
        $TARDY push $url *.run.json --token-file token --spool S --json; echo \"status $?\"; \
        kill $server; wait $server; $TARDY archive verify disk/A; echo \"then verify: $?\"";
    let Some(printed) = on_a_small_disk(&bench, "700k", script) else { return };
    let (json, rest) = printed.out.split_once("status ").unwrap_or_else(|| panic!("{printed:?}"));
    let result: Value = serde_json::from_str(json).unwrap();
    let count = |name: &str| result[name].as_u64().unwrap();
    assert!(count("pushed") > 0 && count("waiting") > 0, "{printed:?}");
    assert_eq!(count("pushed") + count("waiting"), 40, "{printed:?}");
    assert!(result["waiting_because"].as_str().unwrap().contains("full"), "{printed:?}");
    assert!(rest.starts_with('1') && rest.contains("then verify: 0"), "{printed:?}");
    assert!(printed.err.contains(&format!("{} runs read", count("pushed"))), "{printed:?}");
}

#[test]
fn runs_are_pruned_by_a_rule_and_in_the_audit_log() {
    let bench = Bench::new();
    fs::create_dir(bench.path("runs")).unwrap();
    for (number, day) in ["2020-01-01", "2020-01-02", "2020-01-03"].iter().enumerate() {
        let mut run: Value = serde_json::from_slice(&run_file(&number.to_string())).unwrap();
        run["origin"]["started_at"] = json!(format!("{day}T00:00:00Z"));
        fs::write(bench.path(&format!("runs/{number}.run.json")), serde_json::to_vec(&run).unwrap()).unwrap();
    }
    bench.run(&["archive", "add", "A", "runs"]).exits(0);
    assert_eq!(bench.run(&["archive", "prune", "A", "--yes"]).code, Some(2), "a rule is needed");
    let rule = ["archive", "prune", "A", "--older-than", "30", "--keep-newest", "2"];
    let listed = bench.run(&rule).exits(0);
    assert!(listed.out.contains("2020-01-01") && !listed.out.contains("2020-01-02"), "{}", listed.out);
    assert!(listed.err.contains("1 run would be deleted"), "{}", listed.err);
    bench.run(&[&rule[..], &["--yes"]].concat()).exits(0);
    assert_eq!(bench.run(&["list", "A", "--json"]).exits(0).out.matches("\"started_at\"").count(), 2);
    let audit = bench.run(&["archive", "audit", "A"]).exits(0).out;
    assert!(audit.contains("deleted") && audit.contains("prune --older-than 30 --keep-newest 2"), "{audit}");
    bench.run(&["archive", "verify", "A"]).exits(0);
}
