//! `tardy gate`, and `--require` of `tardy run`.

use std::path::Path;

use serde_json::Value;

use crate::bench::{Bench, Printed, json};

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

/// A run that ended early is judged by what it has; that it is not complete is stated wherever a reader looks.
#[test]
fn every_form_states_that_a_run_was_interrupted() {
    let bench = Bench::new();
    let interrupted = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run_files/interrupted.run.json");
    let missing = "interrupted: 0.1 % of the planned time and";
    let base = ["gate", interrupted, "--require", "max<1h"];
    for form in tardy_gate::forms::FORMS.map(|form| form.name) {
        let printed = bench.run(&[&base[..], &["--to", form]].concat()).exits(0).out;
        let printed = if form == "github" { printed.replace("%25", "%") } else { printed };
        assert!(printed.contains(missing), "{form}:\n{printed}");
        let complete = bench.run(&["gate", EXAMPLE, "--require", "max<1h", "--to", form]).exits(0).out;
        assert!(!complete.contains("ncomplete:"), "{form}:\n{complete}");
    }
    let against = ["gate", interrupted, "--baseline", interrupted, "--json"];
    let against: Value = serde_json::from_str(&bench.run(&against).exits(5).out).unwrap();
    let incomplete = against["judgements"][0]["incomplete"].as_array().unwrap();
    assert_eq!(incomplete.len(), 2, "one of each side: {against}");
    assert!(incomplete[0].as_str().unwrap().starts_with("interrupted: interrupted: "), "{against}");
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
    // What no run of the plan can meet or fail is refused before anything is measured.
    for (require, part) in
        [("loaded: max<1ms", "no phase 'loaded'"), ("/cpu77: max<1ms", "CPU 77 will not be measured")]
    {
        let refused = run(&["--require", require]).exits(2);
        assert!(refused.err.contains(part) && !refused.err.contains("run file"), "{}", refused.err);
    }
}

/// A file without times, whose readings are too few.
#[test]
fn without_a_duration_the_readings_that_are_needed_are_counted() {
    let bench = Bench::new();
    let columns = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run_files/columns.run.json");
    let printed = bench.run(&["gate", columns, "--require", "P(>100us)<1e-6"]).exits(4).out;
    assert!(printed.contains("it needs 2,") && printed.contains(" readings more"), "{printed}");
}

/// Boots of a kernel of the examples in the directory of its name: copies of one run, as if it had been measured so often.
fn boots(bench: &Bench, kernel: &str, directory: &str, count: usize) -> Vec<String> {
    let example = EXAMPLE.replace("standard", kernel);
    std::fs::create_dir_all(bench.path(directory)).unwrap();
    let boot = |number: usize| {
        let mut run = json(Path::new(&example));
        run["lab"]["identity"] =
            format!("{number:x}{}", if kernel == "rt" { "a" } else { "b" }.repeat(63)).into();
        run["origin"]["id"] = format!("{kernel}-{number}").into();
        let name = format!("{directory}/{kernel}-{number}.run.json");
        bench.write_run(&name, run);
        name
    };
    (0..count).map(boot).collect()
}

fn gate(bench: &Bench, runs: &[String], more: &[&str]) -> Printed {
    let words: Vec<&str> =
        ["gate"].into_iter().chain(runs.iter().map(String::as_str)).chain(more.iter().copied()).collect();
    bench.run(&words)
}

#[test]
fn runs_are_judged_against_a_baseline() {
    let bench = Bench::new();
    let (standard, rt) = (boots(&bench, "standard", "standard", 5), boots(&bench, "rt", "rt", 5));
    let worse = gate(&bench, &standard, &["--baseline", "rt"]).exits(3).out;
    for part in [
        "failed        p99.9 within 5 % of the baseline",
        "loaded: 36.4 us against 14.7 us in the baseline (medians of 5 and 5)",
        "p = 0.00794, allowed: 1 us more.",
    ] {
        assert!(worse.contains(part), "{part}:\n{worse}");
    }
    gate(&bench, &rt, &["--baseline", "standard"]).exits(0);
    gate(&bench, &standard, &["--baseline", "rt", "--margin", "90%", "--to", "tap"]).exits(3);
    let few = gate(&bench, &standard[..2], &["--baseline", "rt"]).exits(4).out;
    assert!(few.contains("boots of each side"), "{few}");
    let both = gate(&bench, &rt, &["--baseline", "standard", "--require", "max<1us", "--json"]).exits(3).out;
    let both: Value = serde_json::from_str(&both).unwrap();
    assert_eq!(both["judgements"].as_array().unwrap().len(), 6);
    let against = &both["judgements"][5];
    assert_eq!((&against["outcome"], &against["evidence"]["statistic"]), (&"passed".into(), &"p99.9".into()));
    assert!(against["run"].as_str().unwrap().ends_with("and 4 others"), "{against}");
}

/// Two boots of one identity in the lab have the same bytes, so a bin that moved is named.
#[test]
fn bins_that_moved_at_an_equal_identity_are_named() {
    let bench = Bench::new();
    let (before, after) = (boots(&bench, "rt", "before", 5), boots(&bench, "rt", "after", 5));
    let equal = gate(&bench, &after, &["--baseline", "before"]).exits(0).out;
    assert!(equal.contains("5 identities are on both sides, with equal counts in all bins."), "{equal}");
    let mut changed = json(&bench.path(&before[2]));
    let series = changed["series"][1].as_object_mut().unwrap();
    let count = |bin: &Value| bin[2].as_u64().unwrap();
    // Both histograms are the same where no period was missed.
    let bins = series["measured"].as_array().unwrap();
    let at = (0..bins.len() - 1).find(|at| count(&bins[*at]) > 1).unwrap();
    let (lower, upper) = (count(&bins[at]), count(&bins[at + 1]));
    for histogram in ["measured", "corrected"] {
        series[histogram][at][2] = (lower - 1).into();
        series[histogram][at + 1][2] = (upper + 1).into();
    }
    bench.write_run(&before[2], changed);
    let moved = gate(&bench, &after, &["--baseline", "before", "--json"]).exits(5).out;
    let moved: Value = serde_json::from_str(&moved).unwrap();
    let judged = &moved["judgements"][0];
    assert!(judged["because"].as_str().unwrap().contains("but bins moved"), "{judged}");
    let pairs = judged["same_identity"].as_array().unwrap();
    let series: Vec<&Value> = pairs.iter().flat_map(|pair| pair["moved"].as_array().unwrap()).collect();
    let [one] = series.as_slice() else { panic!("{} series moved", series.len()) };
    assert_eq!(one["bins"].as_array().unwrap().len(), 2);
    assert_eq!((&one["bins"][1]["base"], &one["bins"][1]["candidate"]), (&(lower - 1).into(), &lower.into()));
}

#[test]
fn a_baseline_is_replaced_with_who_when_and_why_and_the_former_is_kept() {
    let bench = Bench::new();
    let (standard, rt) = (boots(&bench, "standard", "new", 5), boots(&bench, "rt", "old", 5));
    gate(&bench, &rt, &["--baseline", "base", "--accept", "the first one", "--by", "Ada"]).exits(0);
    std::fs::write(bench.path("base/README.md"), "Ours.").unwrap();
    let error = gate(&bench, &standard, &["--baseline", "base", "--accept", " ", "--by", "Ada"]).exits(2).err;
    assert!(error.contains("the reason is empty"), "{error}");
    let replaced =
        gate(&bench, &standard, &["--baseline", "base", "--accept", "a driver", "--by", "Grace"]).exits(0);
    assert!(
        replaced.out.contains("failed        p99.9 within"),
        "it states what is accepted: {}",
        replaced.out
    );
    let record = std::fs::read_to_string(bench.path("base/accepted.jsonl")).unwrap();
    let lines: Vec<Value> = record.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["who"], &lines[0]["why"]), (&"Ada".into(), &"the first one".into()));
    assert_eq!((&lines[1]["who"], &lines[1]["outcome"]), (&"Grace".into(), &"failed".into()));
    assert!(lines[1]["when"].as_str().unwrap().ends_with('Z'));
    assert_eq!(lines[1]["replaced"][4], "rt-4.run.json");
    let copy = std::fs::read(bench.path("base/standard-2.run.json")).unwrap();
    assert_eq!(
        lines[1]["runs"][2],
        serde_json::json!({
            "file": "standard-2.run.json", "id": "standard-2", "sha256": tardy_lab::checksum::sha256(&copy)
        })
    );
    let former = lines[1]["replaced_in"].as_str().unwrap();
    assert!(bench.path(former).join("rt-4.run.json").is_file());
    assert!(bench.path("base/README.md").is_file(), "other files of the directory stay");
    assert!(!bench.path("base/rt-4.run.json").exists() && bench.path("base/standard-4.run.json").is_file());
    gate(&bench, &rt, &["--baseline", "base"]).exits(0);
}

#[test]
fn runs_that_fail_a_requirement_are_not_accepted() {
    let bench = Bench::new();
    let (standard, rt) = (boots(&bench, "standard", "new", 5), boots(&bench, "rt", "old", 5));
    let accept = |runs: &[String], more: &[&str]| {
        gate(&bench, runs, &[&["--baseline", "base", "--accept", "a driver", "--by", "Ada"], more].concat())
    };
    accept(&rt, &["--require", "max<1s"]).exits(0);
    let record = || std::fs::read_to_string(bench.path("base/accepted.jsonl")).unwrap();
    let before = record();
    for (require, status) in [("max<1us", 3), ("nowhere: max<1s", 5)] {
        let refused = accept(&standard, &["--require", require]).exits(status);
        assert!(refused.out.contains("Outcome: "), "{}", refused.out);
        assert!(refused.err.contains("leave that requirement out"), "{}", refused.err);
    }
    assert_eq!(record(), before, "the baseline is unchanged");
    assert!(bench.path("base/rt-4.run.json").is_file());
    // What the runs are too short to show does not speak against them.
    accept(&standard, &["--require", "P(>1s)<1e-9"]).exits(4);
    assert_eq!(record().lines().count(), 2);
}
