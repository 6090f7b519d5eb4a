//! The server against senders who do not do what is expected of them, with limits that are reached at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::http::Method;
use tardy_analyse::stop;
use tardy_archive::{
    Address, Archive, ArchiveError, BoardRuns, Entry, Kept, Mark, NewFile, Query, Store, Stored,
};
use tardy_record::{Run, file};
use tokio::net::TcpSocket;

use crate::answer::Answer;
use crate::routes::{self, Route};
use crate::serve::{Started, start_with};
use crate::settings::{Allowed, OpenStore, Reading, Settings};

/// How long anything may take to happen on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// More than a connection buffers.
const LARGE: usize = 16 << 20;
const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(100);

/// Limits that no test reaches.
fn generous() -> Allowed {
    Allowed {
        connections: 512,
        connections_of_one: 512,
        headers_within: LONG,
        content_within: LONG,
        stall_within: LONG,
        page_within: LONG,
        answers_after_end: false,
    }
}

/// How many pages of `/endless.html` are being made.
static ENDLESS: AtomicUsize = AtomicUsize::new(0);

struct Endless;

impl Drop for Endless {
    fn drop(&mut self) {
        ENDLESS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The routes of a server, and some of tests.
fn routes() -> Vec<Route> {
    let of_tests = |method, path, answer| Route { method, path, scope: None, answer };
    let mut all = routes::all();
    all.push(of_tests(Method::GET, "/panics.html", |_, _| panic!("a fault of a page")));
    all.push(of_tests(Method::GET, "/large.html", |_, _| Ok(Answer::of("text/plain", vec![b'x'; LARGE]))));
    all.push(of_tests(Method::GET, "/endless.html", |_, _| {
        ENDLESS.fetch_add(1, Ordering::SeqCst);
        let _endless = Endless;
        loop {
            stop::check();
            std::thread::yield_now();
        }
    }));
    all.push(of_tests(Method::PUT, "/content", |_, request| {
        Ok(Answer::of("text/plain", request.body.len().to_string().into_bytes()))
    }));
    all
}

fn settings(archive: &Path, may_write: bool) -> Settings {
    Settings {
        archive: archive.to_owned(),
        listen: "127.0.0.1:0".parse().unwrap(),
        names: Vec::new(),
        reading: Reading::Anyone,
        may_write,
        made_by: "a test".to_owned(),
    }
}

/// A server of an empty archive.
fn started(allowed: Allowed, may_write: bool) -> (tempfile::TempDir, Started) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("A");
    drop(Archive::to_add(&path).unwrap());
    let settings = settings(&path, may_write);
    let open: OpenStore =
        Box::new(move || -> Result<Box<dyn Store>, ArchiveError> { Ok(Box::new(Archive::to_read(&path)?)) });
    let server = start_with(settings, open, routes(), allowed).unwrap();
    (directory, server)
}

fn connected(server: &Started) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A connection from one of this machine's own addresses.
fn connected_from(server: &Started, number: u8) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, number], 0))).unwrap();
        socket.connect(server.address()).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream
}

fn request(method: &str, path: &str, more: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n")
}

/// The status and the body of the next answer.
fn answer(stream: &TcpStream) -> (u16, String) {
    let mut reader = BufReader::new(stream);
    let mut status = String::new();
    reader.read_line(&mut status).unwrap();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_default(), String::from_utf8_lossy(&body).into_owned())
}

/// The status of the answer to a request of its own.
fn status(server: &Started, method: &str, path: &str) -> u16 {
    let mut stream = connected(server);
    stream.write_all(request(method, path, "Content-Length: 0\r\nConnection: close\r\n").as_bytes()).unwrap();
    answer(&stream).0
}

fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_true() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_panic_of_one_request_is_answered_and_the_server_goes_on() {
    let (_directory, server) = started(generous(), true);
    for _ in 0..3 {
        assert_eq!(status(&server, "GET", "/panics.html"), 500);
    }
    assert_eq!(status(&server, "GET", "/"), 200);
}

#[test]
fn connections_that_never_read_or_send_take_places_from_each_other() {
    let allowed = Allowed { connections: 12, connections_of_one: 8, ..generous() };
    let (_directory, server) = started(allowed, true);
    let silent: Vec<TcpStream> = (1..=40).map(|number| connected_from(&server, number)).collect();
    let unread: Vec<TcpStream> = (1..=40)
        .map(|number| {
            let mut stream = connected_from(&server, number);
            // One that was ended to make room cannot be written to.
            let _ = stream.write_all(request("GET", "/large.html", "").repeat(4).as_bytes());
            stream
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(status(&server, "GET", "/"), 200);
    }
    drop((silent, unread));
}

#[test]
fn a_reader_that_reads_nothing_is_ended() {
    let (_directory, server) = started(Allowed { stall_within: SHORT, ..generous() }, true);
    let mut stream = connected(&server);
    stream.write_all(request("GET", "/large.html", "").as_bytes()).unwrap();
    // What is sent to a connection that has ended is refused.
    until("the connection is ended", || stream.write_all(b"\r\n").is_err());
}

#[test]
fn a_writer_that_sends_nothing_is_refused() {
    let allowed = Allowed { stall_within: SHORT, headers_within: SHORT, ..generous() };
    let (_directory, server) = started(allowed, true);
    let mut stream = connected(&server);
    stream.write_all(request("PUT", "/content", "Content-Length: 100\r\n").as_bytes()).unwrap();
    stream.write_all(b"ten bytes.").unwrap();
    assert_eq!(answer(&stream).0, 408);
    let mut stream = connected(&server);
    stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    let mut rest = Vec::new();
    // The end of the connection, perhaps after an answer.
    stream.read_to_end(&mut rest).unwrap();
    assert!(!String::from_utf8_lossy(&rest).contains(" 200 "));
}

#[test]
fn announced_uploads_that_never_arrive_take_no_memory() {
    let (_directory, server) = started(generous(), true);
    let announced: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = connected(&server);
            let head = request("PUT", "/content", "Content-Length: 16777216\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    let mut stream = connected(&server);
    let length = 2 << 20;
    stream
        .write_all(request("PUT", "/content", &format!("Content-Length: {length}\r\n")).as_bytes())
        .unwrap();
    stream.write_all(&vec![b'x'; length]).unwrap();
    assert_eq!(answer(&stream), (200, length.to_string()));
    drop(announced);
}

#[test]
fn a_page_ends_when_its_time_is_over_or_its_reader_has_left() {
    let (_directory, server) = started(Allowed { page_within: SHORT, ..generous() }, true);
    assert_eq!(status(&server, "GET", "/endless.html"), 503);
    until("the page has ended", || ENDLESS.load(Ordering::SeqCst) == 0);
    drop(server);
    let (_directory, server) = started(generous(), true);
    let mut stream = connected(&server);
    stream.write_all(request("GET", "/endless.html", "").as_bytes()).unwrap();
    until("the page is being made", || ENDLESS.load(Ordering::SeqCst) == 1);
    drop(stream);
    until("the page has ended", || ENDLESS.load(Ordering::SeqCst) == 0);
}

#[test]
fn requests_that_are_refused_count() {
    let (_directory, server) = started(generous(), true);
    let mut stream = connected(&server);
    let mut ask = || {
        stream.write_all(request("GET", "/nothing.html", "").as_bytes()).unwrap();
        answer(&stream).0
    };
    until("there are too many", || (0..100).any(|_| ask() == 429));
}

#[test]
fn a_server_that_may_only_read_changes_nothing() {
    let (directory, server) = started(generous(), false);
    assert_eq!(status(&server, "GET", "/"), 200);
    assert_eq!(status(&server, "GET", "/alerts.html"), 200);
    assert_eq!(status(&server, "PUT", "/content"), 403);
    drop(server);
    assert!(!directory.path().join("A/server").exists());
}

/// An archive with a run that cannot be read, as of an earlier tardy that accepted more.
struct WithUnreadable(Archive, Address);

impl Store for WithUnreadable {
    fn find(&self, query: &Query) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        Store::find(&self.0, query)
    }
    fn count(&self, query: &Query) -> Result<u64, ArchiveError> {
        self.0.count(query)
    }
    fn page(
        &self,
        query: &Query,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        self.0.page(query, after, limit)
    }
    fn boards(&self) -> Result<Vec<BoardRuns>, ArchiveError> {
        self.0.boards()
    }
    fn kernels(&self) -> Result<Vec<(String, u64)>, ArchiveError> {
        self.0.kernels()
    }
    fn added_since(&self, mark: Option<&Mark>) -> Result<(Vec<Address>, Mark), ArchiveError> {
        self.0.added_since(mark)
    }
    fn has(&self, address: &Address) -> Result<bool, ArchiveError> {
        self.0.has(address)
    }
    fn get(&self, address: &Address) -> Result<Stored, ArchiveError> {
        self.0.get(address)
    }
    fn open(&self, address: &Address) -> Result<Run, ArchiveError> {
        match *address == self.1 {
            true => Err(file::from_text(b"{}").unwrap_err().into()),
            false => Store::open(&self.0, address),
        }
    }
    fn keep(&mut self, files: Vec<NewFile>) -> Result<Vec<Result<Kept, ArchiveError>>, ArchiveError> {
        self.0.keep(files)
    }
    fn remove(&mut self, address: &Address) -> Result<bool, ArchiveError> {
        Store::remove(&mut self.0, address)
    }
}

/// A run of this board, in which something was late.
fn late_run(board: &str) -> NewFile {
    let text = include_bytes!("../../tardy/tests/run_files/timerlat.run.json");
    let mut run = file::from_text(text).unwrap();
    (run.origin.id, run.origin.host) = (board.to_owned(), board.to_owned());
    NewFile { name: board.to_owned(), content: file::to_text(&run).into_bytes() }
}

#[test]
fn a_run_that_cannot_be_read_leaves_the_alerts_of_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("A");
    let (unreadable, other) = (late_run("board-a"), late_run("board-b"));
    let address = Address::of(&unreadable.content);
    Archive::to_add(&path).unwrap().keep(vec![unreadable, other]).unwrap();
    drop(tardy_archive::records_directory(&path).unwrap());
    std::fs::write(path.join("server/alerts.toml"), "[[rule]]\nname = \"loop\"\nrequire = \"max<1us\"\n")
        .unwrap();
    let archive = path.clone();
    let open: OpenStore = Box::new(move || -> Result<Box<dyn Store>, ArchiveError> {
        Ok(Box::new(WithUnreadable(Archive::to_read(&archive)?, address.clone())))
    });
    let server = start_with(settings(&path, true), open, routes(), generous()).unwrap();
    until("the other board has an alert", || {
        let mut stream = connected(&server);
        stream.write_all(request("GET", "/api/v1/alerts", "").as_bytes()).unwrap();
        answer(&stream).1.contains("board-b")
    });
}
