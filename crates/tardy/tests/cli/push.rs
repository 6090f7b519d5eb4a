//! `tardy push`: runs wait in the spool until the other side has acknowledged them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::Value;

use crate::bench::Bench;
use crate::server::{Server, run_file, token};

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
