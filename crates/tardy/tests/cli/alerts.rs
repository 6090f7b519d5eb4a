//! Alerts of `tardy serve`: when they are raised, who is informed, and what a person sets.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::net::TcpStream;

use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::server::{PATIENCE, Server, address, run_file, token, until};

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
