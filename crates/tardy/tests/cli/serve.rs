//! `tardy serve`: what is kept, found, shown and deleted, who may do what, and what hostile requests get.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::hostile_users::{as_attacker, shared_bench};
use crate::server::{Server, address, compressed, run_file, token};

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
fn a_search_with_thousands_of_conditions_is_a_wrong_request() {
    let bench = Bench::new();
    let server = Server::start(&bench, &[]);
    let conditions = vec!["A%3Dn"; 3000].join("+");
    for path in ["/search.html", "/api/v1/runs"] {
        let answer = server.get(&format!("{path}?config={conditions}"));
        assert!(answer.status == 400 && answer.text().contains("at most 100"), "{path}: {}", answer.text());
    }
}

#[test]
fn directories_of_runs_and_tokens_are_their_owners_alone_whatever_the_umask() {
    let bench = Bench::new();
    fs::write(bench.path("one.run.json"), run_file("one")).unwrap();
    let script = "umask 000; $0 archive add A one.run.json && $0 archive token A --make rack --scope push \
                  && $0 push http://127.0.0.1:1 one.run.json --spool S";
    let mut command = Command::new("sh");
    let status = command
        .args(["-c", script, env!("CARGO_BIN_EXE_tardy")])
        .current_dir(bench.path("."))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.code() == Some(1)), "nothing listens there");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let spool = fs::read_dir(bench.path("S")).unwrap().next().unwrap().unwrap().path();
    for directory in [bench.path("A"), bench.path("A/server"), bench.path("S"), spool] {
        assert_eq!(mode(&directory), 0o700, "{}", directory.display());
    }
    assert_eq!(mode(&bench.path("A/server/tokens.json")), 0o600);
}

#[test]
fn a_private_archive_becomes_unreadable_by_others() {
    let bench = Bench::new();
    bench.run(&["archive", "token", "A", "--make", "x", "--scope", "push"]).exits(1);
    fs::write(bench.path("one.run.json"), run_file("one")).unwrap();
    bench.run(&["archive", "add", "A", "one.run.json"]).exits(0);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    fs::set_permissions(bench.path("A"), fs::Permissions::from_mode(0o755)).unwrap();
    let server = Server::start(&bench, &[]);
    assert_eq!(mode(&bench.path("A")), 0o755, "anyone may read");
    drop(server);
    let server = Server::start(&bench, &["--private"]);
    assert_eq!(mode(&bench.path("A")), 0o700);
    let push = token(&bench, "rack", "push");
    let content = run_file("two");
    assert_eq!(server.push(&push, &content).status, 201);
    let address = address(&content);
    let stored = bench.path(&format!("A/runs/{}/{}.run.json.gz", &address[..2], &address[2..]));
    assert_eq!(mode(&stored), 0o600);
}

#[test]
fn an_archive_that_may_only_be_read_is_shown() {
    let Some(bench) = shared_bench() else { return };
    fs::write(bench.path("one.run.json"), run_file("one")).unwrap();
    bench.run(&["archive", "add", "A", "one.run.json"]).exits(0);
    let push = token(&bench, "rack", "push,admin");
    let status = Command::new("chmod").args(["-R", "a+rX"]).arg(bench.path("A")).status();
    assert!(status.is_ok_and(|status| status.success()));
    let mut command = as_attacker(&[env!("CARGO_BIN_EXE_tardy"), "serve", "A", "--listen", "127.0.0.1:0"]);
    command.current_dir(bench.path("."));
    let server = Server::of(command);
    let address = address(&run_file("one"));
    for page in ["/", &format!("/runs/{address}.html"), "/alerts.html", "/search.html", "/metrics"] {
        assert_eq!(server.get(page).status, 200, "{page}");
    }
    assert!(matches!(server.push(&push, &run_file("two")).status, 401 | 403 | 500));
    assert!(matches!(
        server.ask("DELETE", &format!("/api/v1/runs/{address}"), Some(&push), None).status,
        401 | 403 | 500
    ));
    assert_eq!(server.get("/api/v1/runs").json()["total"], 1);
}
