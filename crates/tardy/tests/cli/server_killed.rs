//! What a server of an archive has acknowledged survives its end and a full disk.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;

use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::full_disk::on_a_small_disk;
use crate::server::{Server, address, ask, compressed, run_file, token, until};

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
