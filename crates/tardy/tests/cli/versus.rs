//! Two groups of boots compared: `compare`, `report` and `plot` with --base and --candidate, and `run --ab`.

use std::fs;

use serde_json::Value;

use crate::bench::{Bench, json};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// Copies of a run of the lab as if they were different boots, each with `change` applied to it and its number.
fn boots(bench: &Bench, name: &str, count: u64, change: impl Fn(&mut Value, u64)) {
    for number in 0..count {
        let mut run = json(format!("{EXAMPLES}/{name}.run.json").as_ref());
        run["lab"]["identity"] =
            format!("{number:064x}").replace('0', if name == "rt" { "a" } else { "b" }).into();
        run["origin"]["id"] = format!("{name}-{number}").into();
        change(&mut run, number);
        fs::write(bench.path(&format!("{name}-{number}.run.json")), run.to_string()).unwrap();
    }
}

fn files(name: &str, count: u64) -> Vec<String> {
    (0..count).map(|number| format!("{name}-{number}.run.json")).collect()
}

/// `command` with the boots of both kernels, then `more`.
fn with_groups(command: &str, boots: [u64; 2], more: &[&str]) -> Vec<String> {
    let mut words = vec![command.to_owned(), "--base".to_owned()];
    words.extend(files("standard", boots[0]));
    words.push("--candidate".to_owned());
    words.extend(files("rt", boots[1]));
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words
}

fn prepared(count: u64) -> Bench {
    let bench = Bench::new();
    boots(&bench, "standard", count, |_, _| ());
    boots(&bench, "rt", count, |_, _| ());
    bench
}

fn run(bench: &Bench, words: &[String]) -> crate::bench::Printed {
    bench.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn five_boots_of_each_kernel_have_a_headline_that_can_be_quoted() {
    let bench = prepared(5);
    let text = run(&bench, &with_groups("compare", [5, 5], &["--limit", "20us"])).exits(0).out;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "debian:6.12-rt's p99.9 in 'loaded' is ",
        " times lower (",
        "worst in equal time over 5 boots each: ",
        "debian:6.12: 5 boots. debian:6.12-rt: 5 boots. Under test: kernel.",
        "p = 0.0079, exact: the share of all 252 divisions of these boots",
        "Later than 20us: ",
        "Under test: kernel: release (6.12.",
    ] {
        assert!(flat.contains(part), "no '{part}' in:\n{text}");
    }
    let found: Value =
        serde_json::from_str(&run(&bench, &with_groups("compare", [5, 5], &["--json"])).exits(0).out)
            .unwrap();
    assert!(found["headline"].as_str().unwrap().starts_with("debian:6.12-rt's p99.9 in 'loaded' is "));
    assert_eq!(found["strength"]["kind"], "tested");
    let primary = &found["experiments"][found["primary"].as_u64().unwrap() as usize];
    assert_eq!(primary["label"], "loaded");
    let statistic =
        primary["statistics"].as_array().unwrap().iter().find(|one| one["name"] == "p99.9").unwrap();
    assert_eq!(statistic["test"]["assignments"], 252);
    assert_eq!(statistic["base"].as_array().unwrap().len(), 5);
}

#[test]
fn few_boots_are_not_tested_and_one_each_is_descriptive() {
    let bench = prepared(3);
    let text = |boots| run(&bench, &with_groups("compare", boots, &[])).exits(0).out;
    let few = text([3, 3]);
    assert!(few.starts_with("Too few boots: with 3 against 3"), "{few}");
    assert!(few.contains("'tardy duration --boots"), "{few}");
    assert!(text([1, 1]).starts_with("Descriptive only, with one boot each"), "{}", text([1, 1]));
}

#[test]
fn another_difference_is_named_and_nothing_is_tested() {
    let bench = prepared(4);
    boots(&bench, "rt", 4, |run, _| run["facts"]["cpu"]["model"]["value"] = "another".into());
    let printed = run(&bench, &with_groups("compare", [4, 4], &[])).exits(1).out;
    assert!(printed.starts_with("Not comparable: besides the factor under test (kernel)"), "{printed}");
    assert!(printed.contains("cpu: model") && !printed.contains("p = "), "{printed}");
    assert!(printed.contains("p99.9"), "the table stays:\n{printed}");
    let refused = run(&bench, &with_groups("compare", [4, 4], &["--factor", "no fact"])).exits(2).err;
    assert!(refused.contains("'no fact' is not a fact") && refused.contains("cpu: model"), "{refused}");
    let words = with_groups("compare", [4, 4], &["--factor", "cpu: model"]);
    assert!(run(&bench, &words).exits(1).out.contains("kernel: release"));
}

#[test]
fn groups_are_reported_and_plotted() {
    let bench = prepared(4);
    run(&bench, &with_groups("report", [4, 4], &["-o", "a.html"])).exits(0);
    let page = fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(page.contains("times lower (") && page.contains("The shift function"), "{}", page.len());
    assert!(page.contains("id=\"shift-2-wide\""));
    run(&bench, &with_groups("plot", [4, 4], &["--kind", "shift", "-o", "a.svg", "--data", "a.csv"]))
        .exits(0);
    assert!(fs::read_to_string(bench.path("a.svg")).unwrap().contains("debian:6.12-rt minus debian:6.12"));
    let data = fs::read_to_string(bench.path("a.csv")).unwrap();
    assert!(data.starts_with("quantile,share,base_ns,candidate_ns,difference_ns,low_ns,high_ns\n"), "{data}");
    assert!(data.lines().count() > 8, "{data}");
    // Two runs have a band of their slices.
    bench.run(&["plot", "--kind", "shift", "standard-0.run.json", "rt-0.run.json", "-o", "b.svg"]).exits(0);
    let words = with_groups("plot", [4, 4], &["--kind", "timeline", "-o", "c.svg"]);
    assert!(run(&bench, &words).exits(2).err.contains("--kind shift"));
    let refused = bench.run(&["plot", "--kind", "shift", "standard-0.run.json", "-o", "d.svg"]).exits(2).err;
    assert!(refused.contains("shift needs two runs, not 1"), "{refused}");
    let words = with_groups("plot", [4, 4], &["--kind", "shift", "--factor", "cmdline", "-o", "e.svg"]);
    let refused = run(&bench, &words).exits(1).err;
    assert!(refused.contains("Not comparable: besides the factor under test (cmdline)"), "{refused}");
}

#[test]
fn a_group_needs_another_and_no_further_runs() {
    let bench = prepared(1);
    for words in [
        &["compare", "--base", "standard-0.run.json"][..],
        &["compare", "--candidate", "standard-0.run.json"],
        &["compare", "rt-0.run.json", "standard-0.run.json", "--limit", "1ms"],
        &["report"],
        &["plot"],
        &["run", "--rounds", "3", "--repeat", "2"],
    ] {
        bench.run(words).exits(2);
    }
    let twice = ["compare", "--base", "rt-0.run.json", "--candidate", "rt-0.run.json"];
    let refused = bench.run(&twice).exits(1).err;
    assert!(refused.contains("are the same boot of the lab"), "{refused}");
}

#[test]
fn wake_methods_in_interleaved_rounds_end_with_a_recommendation() {
    let bench = Bench::new();
    let measure = |more: &[&str]| {
        let words = [
            "run",
            "--fake",
            "1",
            "-q",
            "--force",
            "--loops",
            "1500",
            "--interval",
            "1ms",
            "-o",
            "a.run.json",
        ];
        let wakes = ["--wake", "clock_nanosleep,timerfd"];
        bench.run(&[&words[..], &wakes, more].concat()).exits(0).out
    };
    let decided = measure(&["--rounds", "5"]);
    let phases = bench.json("a.run.json")["plan"]["phases"].clone();
    let rounds: Vec<u64> =
        phases.as_array().unwrap().iter().map(|phase| phase["round"].as_u64().unwrap()).collect();
    assert_eq!(rounds, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    let wakes: Vec<&str> = phases
        .as_array()
        .unwrap()
        .iter()
        .step_by(2)
        .map(|phase| phase["probe"]["wake"].as_str().unwrap())
        .collect();
    assert!(wakes.iter().any(|wake| *wake != wakes[0]), "each round begins with the same: {wakes:?}");
    let flat = decided.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("The 5 rounds do not decide between ") || flat.contains(" over 5 rounds)."),
        "{decided}"
    );
    let shown = |measured: &str| -> serde_json::Value {
        assert!(!measured.is_empty());
        serde_json::from_str(&bench.run(&["show", "a.run.json", "--json"]).exits(0).out).unwrap()
    };
    let recommendation = &shown(&decided)["recommendations"][0];
    assert_eq!((&recommendation["rounds"], &recommendation["statistic"]), (&5.into(), &"p99.9".into()));
    let kind = recommendation["answer"]["kind"].as_str().unwrap();
    assert_eq!(kind == "undecided", flat.contains("do not decide between"), "{recommendation}");
    let few = measure(&["--rounds", "2"]);
    assert_eq!(shown(&few)["recommendations"][0]["answer"]["kind"], "too_few_rounds");
    assert!(few.contains("2 rounds do not support a recommendation"), "{few}");
    // One method after the other: a drift would look like a difference.
    let sequential = measure(&["--repeat", "5"]);
    assert!(!sequential.contains("recommendation") && !sequential.contains("do not decide"), "{sequential}");
    assert!(shown(&sequential).get("recommendations").is_none());
}

const RECIPE: &str =
    "about = \"A recipe.\"\n[run]\nloops = 1500\nwarmup = \"0s\"\n[timer]\ninterval = \"1ms\"\n";

#[test]
fn two_recipes_are_measured_in_turn_and_compared() {
    let bench = Bench::new();
    fs::write(bench.path("one.toml"), RECIPE).unwrap();
    fs::write(bench.path("two.toml"), format!("{RECIPE}wake = [\"timerfd\"]\n")).unwrap();
    let words = ["run", "--ab", "one.toml", "two.toml", "--rounds", "4", "--fake", "1", "-q", "-o", "ab"];
    let printed = bench.run(&words).exits(0);
    assert!(printed.out.contains("over 4 runs each"), "{}", printed.out);
    assert!(printed.out.contains("All runs are of one boot"), "{}", printed.out);
    let mut places: Vec<(u64, u64, String)> = Vec::new();
    for name in ["one", "two"] {
        for round in 1..=4 {
            let run = bench.json(&format!("ab/{name}-round-{round}.run.json"));
            let trial = &run["origin"]["trial"];
            assert_eq!(
                (&trial["side"], &trial["round"], &trial["rounds"]),
                (&name.into(), &round.into(), &4.into())
            );
            assert_eq!(run["plan"]["seed"], round);
            places.push((trial["place"].as_u64().unwrap(), round, name.to_owned()));
        }
    }
    places.sort();
    assert!(places.iter().map(|place| place.0).eq(1..=8), "{places:?}");
    assert!(places.chunks(2).all(|pair| pair[0].1 == pair[1].1 && pair[0].2 != pair[1].2), "{places:?}");
    assert!(fs::read_to_string(bench.path("ab/report.html")).unwrap().contains("The shift function"));
    let refused = bench.run(&words).exits(1).err;
    assert!(refused.contains("--force"), "{refused}");
    let json = bench.run(&[&words[..], &["--force", "--json"]].concat()).exits(0).out;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["factor"], "recipe");
    let order =
        bench.run(&["run", "--ab", "one.toml", "two.toml", "--rounds", "4", "--dry-run"]).exits(0).out;
    assert!(order.starts_with("4 rounds, in this order: "), "{order}");
    let read = ["compare", "--base", "ab/one-round-1.run.json", "--candidate", "ab/two-round-1.run.json"];
    let one_each = bench.run(&[&read[..], &["--factor", "recipe"]].concat()).exits(0).out;
    assert!(one_each.starts_with("Descriptive only"), "{one_each}");
}
