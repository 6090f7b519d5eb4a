//! Small services for tests: what tardy uses of ClickHouse and of S3, with failures.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use tardy_record::file;

/// How a service fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It refuses with this status.
    Refuses(u16),
    /// It answers 200 with ClickHouse's header of an exception.
    Exception,
    /// It never answers.
    Late,
    /// Half of its answer arrives.
    Half,
    /// It stores, and the connection dies before the answer.
    StoresAndDies,
}

/// What the services have, and which requests fail.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) objects: BTreeMap<String, Vec<u8>>,
    /// The lines that were inserted, by table.
    pub(crate) rows: BTreeMap<String, Vec<Value>>,
    /// Requests that contain a text fail.
    pub(crate) failure: Option<(&'static str, Failure)>,
    /// The methods and addresses of all requests.
    pub(crate) requests: Vec<String>,
    /// Connections whose answer never comes are kept open.
    held: Vec<TcpStream>,
}

impl State {
    /// The addresses of the table `runs`, once each.
    pub(crate) fn runs(&self) -> BTreeSet<String> {
        let rows = self.rows.get("runs").into_iter().flatten();
        rows.map(|row| row[1].as_str().unwrap().to_owned()).collect()
    }
}

/// Both services at one address.
pub(crate) struct Services {
    state: Arc<Mutex<State>>,
    directory: tempfile::TempDir,
    pub(crate) archive: PathBuf,
}

impl Services {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path().join("warehouse.toml");
        let text = format!(
            "timeout = 1\n[clickhouse]\nurl = 'http://127.0.0.1:{port}/'\ndatabase = 'd'\npassword-file = 'secret'\n\
             [s3]\nendpoint = 'http://127.0.0.1:{port}'\nbucket = 'bucket'\nprefix = 'p/'\n\
             access-key-file = 'secret'\nsecret-key-file = 'secret'\n"
        );
        std::fs::write(&archive, text).unwrap();
        std::fs::write(directory.path().join("secret"), "hidden-secret\n").unwrap();
        Self { state, directory, archive }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn fail(&self, request: &'static str, failure: Failure) {
        self.state().failure = Some((request, failure));
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

/// A run with this identity.
pub(crate) fn run(id: &str) -> Vec<u8> {
    let text = include_bytes!("../../tardy-present/tests/runs/steady.run.json");
    let mut run = file::from_text(text).unwrap();
    run.origin.id = id.to_owned();
    file::to_text(&run).into_bytes()
}

/// One request a connection.
fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    let Some((head, body)) = request(&mut stream) else { return };
    let line = head.lines().next().unwrap_or_default().replace("%20", " ");
    let text = format!("{line}\n{}", String::from_utf8_lossy(&body));
    let mut state = state.lock().unwrap();
    state.requests.push(line.clone());
    let failure = state.failure.filter(|(part, _)| text.contains(part)).map(|(_, failure)| failure);
    let whole = |status: u16, headers: &str, body: &[u8]| {
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n");
        [head.as_bytes(), body].concat()
    };
    let bytes = match failure {
        Some(Failure::Refuses(status)) => whole(status, "", b"Code: 241. DB::Exception:\nno memory"),
        Some(Failure::Exception) => {
            whole(200, "X-ClickHouse-Exception-Code: 241\r\n", b"Code: 241. DB::Exception: no memory")
        }
        Some(Failure::Late) => {
            state.held.push(stream);
            return;
        }
        _ => {
            let (status, answer) = answer(&mut state, &line, &text, body);
            whole(status, "", &answer)
        }
    };
    let end = match failure {
        Some(Failure::Half) => bytes.len() - 5,
        Some(Failure::StoresAndDies) => 0,
        _ => bytes.len(),
    };
    drop(state);
    let _ = stream.write_all(&bytes[..end]);
}

fn request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if bytes.len() >= end + 4 + length.unwrap_or(0) {
                return Some((head, bytes.split_off(end + 4)));
            }
        }
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

fn answer(state: &mut State, line: &str, text: &str, body: Vec<u8>) -> (u16, Vec<u8>) {
    let path = line.split_whitespace().nth(1).unwrap_or_default();
    let key = path.split('?').next().unwrap_or_default().strip_prefix("/bucket/");
    let found = |rows: Vec<Value>| {
        let count = rows.len();
        (200, json!({ "data": rows, "rows": count }).to_string().into_bytes())
    };
    let runs = || state.rows.get("runs").cloned().unwrap_or_default();
    match (line.split_whitespace().next().unwrap_or_default(), key) {
        ("PUT", Some(key)) => {
            state.objects.insert(key.to_owned(), body);
            (200, Vec::new())
        }
        ("GET", Some("")) => {
            let keys: String =
                state.objects.keys().map(|key| format!("<Contents><Key>{key}</Key></Contents>")).collect();
            let space = "http://s3.amazonaws.com/doc/2006-03-01/";
            (200, format!("<ListBucketResult xmlns=\"{space}\">{keys}</ListBucketResult>").into_bytes())
        }
        ("GET" | "HEAD", Some(key)) => match state.objects.get(key) {
            Some(object) if line.starts_with("GET") => (200, object.clone()),
            Some(_) => (200, Vec::new()),
            None => (404, Vec::new()),
        },
        ("DELETE", Some(key)) => {
            state.objects.remove(key);
            (204, Vec::new())
        }
        _ if text.contains("INSERT") => {
            let table = text.split("d.").nth(1).unwrap().split(' ').next().unwrap();
            let lines = String::from_utf8(body).unwrap();
            let rows = lines.lines().map(|line| serde_json::from_str(line).unwrap());
            state.rows.entry(table.to_owned()).or_default().extend(rows);
            (200, Vec::new())
        }
        _ if text.contains("SELECT comment") => found(vec![json!(["tardy archive 1"])]),
        _ if text.contains("SELECT address, entry") => {
            found(runs().iter().map(|row| json!([row[1], row[16]])).collect())
        }
        _ if text.contains("SELECT address") => {
            let wanted = |row: &&Value| !text.contains("IN (") || text.contains(row[1].as_str().unwrap());
            found(runs().iter().filter(wanted).map(|row| json!([row[1]])).collect())
        }
        _ if text.contains("SELECT id") => {
            let wanted = |row: &&Value| text.contains(&format!("'{}'", row[2].as_str().unwrap()));
            found(runs().iter().filter(wanted).map(|row| json!([row[2], row[1]])).collect())
        }
        _ if text.contains("DELETE FROM d.runs") => {
            state
                .rows
                .entry("runs".to_owned())
                .or_default()
                .retain(|row| !text.contains(row[1].as_str().unwrap()));
            (200, Vec::new())
        }
        _ => (200, Vec::new()),
    }
}
