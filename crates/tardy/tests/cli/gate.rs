//! `tardy gate`, and `--require` of `tardy run`.

use serde_json::Value;

use crate::bench::Bench;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/standard.run.json");

#[test]
fn the_exit_status_is_that_of_the_outcome_that_matters_most() {
    let bench = Bench::new();
    for (require, status) in [
        (&["p99<500us"][..], 0),
        (&["max<1s"], 0),
        (&["max<1us"], 3),
        (&["p50<1ns"], 3),
        (&["P(>1ms)<1e-9"], 4),
        (&["p99<500us", "P(>1ms)<1e-9"], 4),
        (&["P(>1ms)<1e-9", "p50<1ns"], 3),
        (&["nowhere: max<1s", "p50<1ns"], 5),
        (&["/cpu77: max<1s"], 5),
    ] {
        let arguments = require.iter().flat_map(|one| ["--require", one]);
        let words: Vec<&str> = ["gate", EXAMPLE].into_iter().chain(arguments).collect();
        bench.run(&words).exits(status);
    }
    let error = bench.run(&["gate", EXAMPLE]).exits(2).err;
    assert!(error.contains("nothing is required"), "{error}");
    let error = bench.run(&["gate", EXAMPLE, "--require", "p99>1us"]).exits(2).err;
    assert!(error.contains("write p99.9<500us"), "{error}");
}

#[test]
fn every_form_has_the_outcome_and_files_are_written_together() {
    let bench = Bench::new();
    let base =
        ["gate", EXAMPLE, "--require", "p99<500us", "--require", "max<1us", "--require", "P(>1ms)<1e-9"];
    let with = |more: &[&str]| bench.run(&[&base[..], more].concat()).exits(3).out;
    for (form, parts) in [
        ("text", &["passed        p99<500us@95%", "failed        max<1us", "Outcome: failed."][..]),
        ("junit", &["tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\"", "name=\"p99&lt;500us@95%\""]),
        ("tap", &["TAP version 14\n1..3\n", "ok 1 - ", "not ok 2 - ", "ok 3 - ", "# SKIP inconclusive"]),
        ("lava", &["RESULT=pass MEASUREMENT=", "RESULT=fail", "RESULT=skip", "UNITS=us>"]),
        ("github", &["::notice title=", "::error title=", "::warning title=", "@95%25"]),
        ("markdown", &["### Latency: failed", "| passed | `p99<500us@95%` |"]),
        ("kcidb", &["\"status\": \"PASS\"", "\"status\": \"FAIL\"", "\"status\": \"DONE\"", "\"major\": 5"]),
    ] {
        let printed = with(&["--to", form]);
        parts.iter().for_each(|part| assert!(printed.contains(part), "{form} lacks {part}:\n{printed}"));
    }
    let all: Value = serde_json::from_str(&with(&["--json"])).unwrap();
    assert_eq!(all["outcome"], "failed");
    assert_eq!(all["judgements"][2]["outcome"], "inconclusive");
    assert!(all["judgements"][2]["evidence"]["needs_more_ns"].as_u64().unwrap() > 0);
    let text = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    with(&["--write", "junit=a.xml", "--write", "markdown=a.md"]);
    assert!(text("a.xml").starts_with("<?xml") && text("a.md").starts_with("### "));
    let refused = bench.run(&[&base[..], &["--write", "junit=a.xml"]].concat()).exits(1).err;
    assert!(refused.contains("a.xml") && refused.contains("--force"), "{refused}");
}

/// A limit that is required before the run is counted exactly, and judged at its end.
#[test]
fn a_run_is_judged_by_what_it_was_required_to_meet() {
    let bench = Bench::new();
    let run = |more: &[&str]| {
        let words = ["run", "--fake", "3", "--loops", "2000", "--quiet", "--force", "-o", "a.run.json"];
        bench.run(&[&words[..], more].concat())
    };
    let printed = run(&["--require", "p50<1s", "--require", "max<1s"]).exits(0).out;
    assert!(printed.contains("Outcome: passed."), "{printed}");
    let run_file = bench.json("a.run.json");
    assert_eq!(run_file["plan"]["thresholds_ns"], serde_json::json!([1_000_000_000]));
    run(&["--require", "max<1ns"]).exits(3);
    run(&["--require", "P(>1s)<1e-9"]).exits(4);
    let printed = run(&["--require", "max<1ns", "--json"]).exits(3);
    serde_json::from_str::<Value>(&printed.out).expect("standard output is JSON only");
    assert!(printed.err.contains("Outcome: failed."), "{}", printed.err);
}
