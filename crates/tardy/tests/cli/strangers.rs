//! Files as people bring them, and the questions that they bring them for.

use std::fs;
use std::path::PathBuf;

use crate::bench::Bench;

/// A bench with the files of these beginnings, imported as `NAME.run.json`.
fn bench_with(names: &[&str]) -> Bench {
    let bench = Bench::new();
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tardy-formats/tests/strangers");
    for name in names {
        let is_meant = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(name);
        let file =
            fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).find(is_meant).unwrap();
        let file = file.to_str().unwrap();
        bench.run(&["import", file, "-o", &format!("{name}.run.json")]).exits(0);
    }
    bench
}

#[test]
fn a_gate_does_not_read_us_as_ns() {
    let bench = bench_with(&["01"]);
    let judged = bench.run(&["gate", "01.run.json", "--require", "max<100us"]).exits(3).out;
    assert!(judged.contains("170 us"), "{judged}");
}

#[test]
fn unknown_machines_are_not_the_same_machine() {
    let bench = bench_with(&["03a", "03b"]);
    let compared = bench.run(&["compare", "03a.run.json", "03b.run.json"]).exits(0).out;
    let compared = compared.replace("\n  ", " ");
    assert!(compared.contains("Not known of all: machine and kernel,"), "{compared}");
    assert!(!compared.contains("No difference"), "{compared}");
    assert!(compared.contains("Comparable only if the conditions below"), "{compared}");
    bench.run(&["report", "03a.run.json", "03b.run.json", "-o", "both.html"]).exits(0);
    let page = fs::read_to_string(bench.path("both.html")).unwrap();
    assert!(page.contains("Not known of all: machine and kernel"));
}

#[test]
fn an_unknown_minimum_is_not_zero() {
    let bench = bench_with(&["05"]);
    let shown = bench.run(&["show", "05.run.json"]).exits(0).out;
    let row = shown.lines().find(|line| line.starts_with("cpu 0")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..6], ["cpu", "0", "58", "-", "-", "-"], "recorded, missed, min, mean: {shown}");
    for format in ["csv", "json", "openmetrics", "cyclictest-json"] {
        bench.run(&["export", "05.run.json", "--to", format]).exits(0);
    }
    bench.run(&["report", "05.run.json", "-o", "page.html"]).exits(0);
}

#[test]
fn a_gate_names_the_thread_that_decided() {
    let bench = bench_with(&["08"]);
    // Thread 1 has fewer readings, so its share has a higher limit; thread 0 has the worst.
    let passed = bench.run(&["gate", "08.run.json", "--require", "max<500us"]).exits(0).out;
    assert!(passed.contains("thread 0: the worst of 2,000 took 399 us"), "{passed}");
    let failed = bench.run(&["gate", "08.run.json", "--require", "max<300us"]).exits(3).out;
    assert!(failed.contains("thread 0: the worst of 2,000 took 399 us"), "{failed}");
}

#[test]
fn threads_with_several_intervals_have_all_of_them_in_the_heading() {
    let bench = bench_with(&["09"]);
    let shown = bench.run(&["show", "09.run.json"]).exits(0).out;
    assert!(shown.contains("cyclictest every 1ms and 6.5ms, "), "{shown}");
}

#[test]
fn runs_under_another_load_are_not_compared() {
    let bench = Bench::new();
    let run = |name: &str, more: &[&str]| {
        let words =
            ["run", "-q", "--fake", "1", "--loops", "500", "--interval", "1ms", "--cpus", "0", "-o", name];
        bench.run(&[&words[..], more].concat())
    };
    run("idle.run.json", &[]).exits(0);
    // Beside other work, half a second may be too short for a load: then the run is invalid.
    let measured = run("loaded.run.json", &["--load", "cpu"]);
    assert!(matches!(measured.code, Some(0 | 5)), "{}", measured.err);
    let mut loaded = bench.json("loaded.run.json");
    (loaded["validity"]["valid"], loaded["validity"]["spoilt_by"]) = (true.into(), serde_json::json!([]));
    fs::write(bench.path("loaded.run.json"), loaded.to_string()).unwrap();
    let refused = bench.run(&["compare", "idle.run.json", "loaded.run.json"]).exits(1);
    assert!(refused.err.contains("are not comparable: loads: none and cpu"), "{}", refused.err);
    assert!(refused.out.contains("loads: none and cpu") && !refused.out.contains("p99"), "{}", refused.out);
    let json = bench.run(&["compare", "idle.run.json", "loaded.run.json", "--json"]).exits(1).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["candidates"][0]["rows"], serde_json::json!([]));
    let anyway = bench.run(&["compare", "idle.run.json", "loaded.run.json", "--anyway"]).exits(0).out;
    assert!(anyway.contains("NOT COMPARABLE: loads: none and cpu") && anyway.contains("p99"), "{anyway}");
    // An invalid base is not a base.
    let mut invalid = bench.json("idle.run.json");
    invalid["validity"]["valid"] = false.into();
    invalid["validity"]["spoilt_by"] = serde_json::json!(["the machine was suspended"]);
    fs::write(bench.path("invalid.run.json"), invalid.to_string()).unwrap();
    let refused = bench.run(&["compare", "invalid.run.json", "loaded.run.json"]).exits(1);
    assert!(refused.out.contains("the base is invalid: the machine was suspended"), "{}", refused.out);
}

#[test]
fn isolation_of_the_measured_cpus_is_a_condition() {
    let bench = Bench::new();
    let words = ["run", "-q", "--fake", "1", "--loops", "500", "--interval", "1ms", "--cpus", "0", "-o"];
    bench.run(&[&words[..], &["a.run.json"]].concat()).exits(0);
    bench.run(&[&words[..], &["b.run.json"]].concat()).exits(0);
    let isolated = |name: &str, value: &str| {
        let mut run = bench.json(name);
        run["facts"]["cpu"]["isolated"]["value"] = value.into();
        fs::write(bench.path(name), run.to_string()).unwrap();
    };
    isolated("a.run.json", "0");
    isolated("b.run.json", "none");
    let refused = bench.run(&["compare", "a.run.json", "b.run.json"]).exits(1);
    let expected = "isolation of the measured CPUs: 0 isolated and none";
    assert!(refused.out.contains(expected), "{}", refused.out);
    isolated("b.run.json", "0");
    bench.run(&["compare", "a.run.json", "b.run.json"]).exits(0);
}
