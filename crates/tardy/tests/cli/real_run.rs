//! Real measurements on any machine: numbers are compared with each other and with the kernel's, never with absolute
//! times.

use crate::bench::{Bench, wait_until};
use serde_json::Value;

#[test]
fn the_counts_of_a_run_under_load_add_up() {
    let _mine = crate::doload_is_mine();
    let bench = Bench::new();
    let arguments =
        ["run", "--duration", "4s", "--load", "doload", "--limit", "1ms", "-o", "a.run.json", "--report"];
    let printed = bench.run(&arguments);
    assert!(matches!(printed.code, Some(0 | 3 | 5)), "{}\n{}", printed.out, printed.err);
    assert!(printed.out.contains("This is not a guarantee"), "{}", printed.out);
    let run = bench.json("a.run.json");
    assert_eq!(run["progress"]["state"], "complete");
    assert_eq!(run["progress"]["planned_ns"], 4_000_000_000u64);
    for series in run["series"].as_array().unwrap() {
        check_series(series, 20_000);
    }
    check_loads(&run);
    check_cost(&run);
    assert!(bench.path("a.html").exists());
    assert_eq!(
        std::fs::read_dir("/dev/shm").unwrap().flatten().filter(|e| is_map_of(&run, &e.file_name())).count(),
        0
    );
}

fn is_map_of(run: &Value, name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().contains(run["origin"]["id"].as_str().unwrap())
}

fn check_series(series: &Value, planned: u64) {
    let tally = |key: &str| series["tally"][key].as_u64().unwrap();
    assert_eq!(tally("attempted"), planned, "{}", series["label"]);
    assert_eq!(tally("recorded") + tally("missed") + tally("dropped"), planned);
    let total =
        |name: &str| series[name].as_array().unwrap().iter().map(|bin| bin[2].as_u64().unwrap()).sum::<u64>();
    assert_eq!(total("measured"), tally("recorded"));
    assert_eq!(total("corrected"), tally("recorded") + tally("missed"));
    let slices: u64 = series["slices"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|slice| slice["histogram"].as_array().unwrap().iter().map(|bin| bin[2].as_u64().unwrap()))
        .sum();
    assert_eq!(slices, total("corrected"), "slices lose nothing");
    let maxima = series["block_maxima"]["maxima_ns"].as_array().unwrap();
    let highest = maxima.iter().filter_map(Value::as_i64).max();
    assert_eq!(highest, series["max_ns"].as_i64(), "the highest block maximum is the maximum");
    assert_eq!(series["worst"][0]["latency_ns"], series["max_ns"]);
    let threshold = &series["thresholds"][0];
    assert_eq!(threshold["limit_ns"], 1_000_000);
    let beyond: u64 = series["worst"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|o| o["latency_ns"].as_i64() > Some(1_000_000))
        .count() as u64;
    assert!(threshold["measured"].as_u64().unwrap() >= beyond);
}

fn check_loads(run: &Value) {
    let parts = run["loads"][0]["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["scheduler", "network", "copy", "listing"]);
    for part in parts {
        assert!(part["done"].as_array().unwrap().last().unwrap().as_u64().unwrap() > 0, "{}", part["name"]);
        assert!(part["deaths"].as_array().unwrap().is_empty());
    }
    assert!(run["loads"][0]["remarks"][0].as_str().unwrap().contains("no network-card interrupts"));
}

fn check_cost(run: &Value) {
    let costs = run["self_cost"].as_array().unwrap();
    for cost in costs.iter().filter(|cost| cost["thread"].as_str().unwrap().starts_with("timer")) {
        assert!(cost["cpu_ns"].as_u64().unwrap() > 0);
        assert_eq!(cost["minor_faults"], 0, "{cost}");
        assert_eq!(cost["major_faults"], 0, "{cost}");
        assert_eq!(cost["migrations"].as_u64().unwrap_or(0), 0, "{cost}");
    }
    let supervisor =
        costs.iter().find(|cost| cost["thread"].as_str().unwrap().starts_with("housekeeping")).unwrap();
    let wakeups = supervisor["voluntary_switches"].as_u64().unwrap();
    assert!(wakeups < 200, "the supervisor wakes about once per second, not {wakeups} times in 5 s");
}

#[test]
fn every_wake_method_accounts_for_every_cycle() {
    let bench = Bench::new();
    let wakes = "clock_nanosleep,nanosleep,timer_settime,setitimer,timerfd,busy";
    let printed =
        bench.run(&["run", "--wake", wakes, "--duration", "500ms", "--warmup", "10ms", "-o", "a.run.json"]);
    assert!(printed.code == Some(0), "{printed:?}");
    let run = bench.json("a.run.json");
    let series = run["series"].as_array().unwrap();
    assert_eq!(series.len() % 6, 0);
    for series in series {
        let wake = series["kind"]["wake"].as_str().unwrap();
        if wake == "nanosleep" {
            assert!(series["corrected"].is_null(), "a relative sleep has no schedule");
            assert_eq!(series["tally"]["missed"], 0);
            assert!(series["tally"]["recorded"].as_u64().unwrap() <= 2500);
        } else {
            check_accounts(series);
        }
        let counted = matches!(wake, "timer_settime" | "timerfd");
        assert_eq!(series["kind"]["kernel_overruns"].is_u64(), counted, "{wake}");
        if counted {
            assert!(series["kind"]["kernel_overruns"].as_u64() >= series["tally"]["missed"].as_u64());
        }
    }
    for method in wakes.split(',') {
        assert!(
            printed.out.contains(method),
            "{method} is in the table that compares them:\n{}",
            printed.out
        );
    }
}

fn check_accounts(series: &Value) {
    let tally = |key: &str| series["tally"][key].as_u64().unwrap();
    assert_eq!(tally("attempted"), 2500, "{}", series["kind"]);
    assert_eq!(tally("recorded") + tally("missed") + tally("dropped"), 2500);
}

#[test]
fn a_run_file_follows_the_published_schema() {
    let bench = Bench::new();
    bench.run(&["run", "--duration", "300ms", "--load", "cmd:sleep 5", "-o", "a.run.json"]).exits(0);
    bench
        .run(&["run", "--fake", "3", "--duration", "1m", "--wake", "nanosleep,busy", "-o", "b.run.json"])
        .exits(0);
    let schema: Value = serde_json::from_str(&bench.run(&["schema"]).exits(0).out).unwrap();
    let validator = jsonschema::validator_for(&schema).expect("the schema is valid");
    for name in ["a.run.json", "b.run.json"] {
        let run = bench.json(name);
        let errors: Vec<String> =
            validator.iter_errors(&run).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        let mut broken = run;
        broken["series"][0]["tally"]["recorded"] = "many".into();
        assert!(!validator.is_valid(&broken), "a schema that accepts anything shows nothing");
    }
}

#[test]
fn a_dead_load_makes_the_run_invalid() {
    let bench = Bench::new();
    let printed = bench
        .run(&[
            "run",
            "--duration",
            "1200ms",
            "--load",
            "cmd:echo no such disk >&2; exit 7",
            "-o",
            "a.run.json",
        ])
        .exits(5);
    assert!(printed.out.contains("no such disk"), "{}", printed.out);
    let run = bench.json("a.run.json");
    assert_eq!(run["validity"]["valid"], false);
}

#[test]
fn ctrl_c_ends_the_run_properly() {
    let bench = Bench::new();
    let running = bench.start(&["run", "--duration", "1h", "-o", "a.run.json"]);
    let path = bench.path("a.run.json");
    wait_until("the phase", || path.exists() && phase_has_begun(&path));
    running.signal("-INT");
    let printed = running.printed().exits(1);
    assert!(printed.err.contains("ending; the run is kept"), "{}", printed.err);
    let run = bench.json("a.run.json");
    assert_eq!(run["progress"]["state"], "interrupted");
    assert!(bench.run(&["show", "a.run.json"]).exits(0).out.contains("nterrupted"));
}

pub(crate) fn phase_has_begun(path: &std::path::Path) -> bool {
    let id = crate::bench::json(path)["origin"]["id"].as_str().unwrap().to_owned();
    std::path::Path::new(&format!("/dev/shm/tardy-{id}-0.map")).exists()
}

#[test]
fn a_run_names_the_build_that_measured() {
    let bench = Bench::new();
    let version = bench.run(&["--version"]).exits(0).out;
    let build = version.trim().strip_prefix("tardy ").expect("it names the program").to_owned();
    assert!(build.contains(std::env::consts::ARCH), "{build}");
    bench.run(&["run", "--fake", "1", "--loops", "10", "--quiet", "-o", "a.run.json"]).exits(0);
    assert_eq!(bench.json("a.run.json")["origin"]["build"], build);
}

/// What a run with a rule and the arguments `more` decided: its file, its findings and what it printed.
fn decided(bench: &Bench, name: &str, more: &[&str], status: i32) -> (Value, Value, String) {
    let base = ["run", "--interval", "1ms", "--warmup", "100ms", "--allow-degraded", "-q", "-o", name];
    let printed = bench.run(&[&base[..], more].concat()).exits(status);
    let shown = bench.run(&["show", name, "--json"]).exits(status).out;
    (bench.json(name), serde_json::from_str(&shown).unwrap(), one_line(&printed.out))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// No absolute time of the machine decides: every wake-up is later than 1 ns, and none than an hour.
#[test]
fn a_run_ends_when_its_data_decide_the_claim() {
    let bench = Bench::new();
    let until = |limit: &'static str, duration: &'static str| {
        ["--until", "decided", "--limit", limit, "--probability", "1%", "--duration", duration]
    };
    let (run, shown, text) = decided(&bench, "refuted.run.json", &until("1ns", "1h"), 3);
    assert_eq!(run["progress"]["state"], "complete");
    assert_eq!(run["phases"][0]["until"], serde_json::json!({"decision": "refuted", "early": true}));
    assert_eq!(shown["until"]["phases"][0]["decision"], "refuted");
    assert!(text.contains("of at most 1h: the data refute that at most 1 in 100 wake-ups"), "{text}");
    let counted_ns = shown["until"]["phases"][0]["counted_ns"].as_u64().unwrap();
    let planned_ns = run["progress"]["planned_ns"].as_u64().unwrap();
    assert!(counted_ns < planned_ns / 2, "{counted_ns} of {planned_ns}");
    assert_eq!(run["progress"]["measured_ns"], counted_ns, "analyses use the true length");

    let (run, shown, text) = decided(&bench, "supported.run.json", &until("1h", "1h"), 0);
    assert_eq!(run["phases"][0]["until"], serde_json::json!({"decision": "supported", "early": true}));
    assert!(text.contains("of at most 1h: the data support that at most 1 in 100 wake-ups"), "{text}");
    assert!(text.contains("It allows for the end of the run having been chosen by its data."), "{text}");
    assert_eq!(shown["verdict"]["length"], "by_data");
    assert!(shown["verdict"]["bound"]["upper"].as_f64().unwrap() <= 0.01);
    // The same bound decides a requirement, and another limit has such a bound too.
    let gate = bench.run(&["gate", "supported.run.json", "--require", "P(>1h)<1%", "--json"]).exits(0).out;
    let gate: Value = serde_json::from_str(&gate).unwrap();
    let evidence = &gate["judgements"][0]["evidence"];
    assert_eq!(evidence["length"], "by_data");
    assert_eq!(evidence["share_upper"], shown["until"]["phases"][0]["share_upper"]);
    let other = bench.run(&["show", "supported.run.json", "--limit", "2h", "--json"]).exits(0).out;
    let other: Value = serde_json::from_str(&other).unwrap();
    assert_eq!(other["verdict"]["bound"]["upper"], shown["verdict"]["bound"]["upper"]);
    bench.run(&["report", "supported.run.json", "-o", "a.html"]).exits(0);
    let page = std::fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(page.contains("the data support that at most 1 in 100 wake-ups"), "the report lacks it");
}

/// Nothing is late. 360 wake-ups would be enough if they were independent; with clusters of five it takes five times as many.
#[test]
fn a_stated_cluster_makes_a_bound_wider() {
    let bench = Bench::new();
    let until = [
        "--until",
        "supported",
        "--limit",
        "1h",
        "--probability",
        "1%",
        "--duration",
        "1h",
        "--cluster",
        "5",
    ];
    let (run, shown, text) = decided(&bench, "clustered.run.json", &until, 0);
    assert_eq!(run["plan"]["until"]["cluster"], 5);
    assert!(text.contains("a single event makes at most 5 wake-ups of a CPU late"), "{text}");
    let bound = &shown["verdict"]["bound"];
    let (upper, wakeups) = (bound["upper"].as_f64().unwrap(), bound["wakeups"].as_f64().unwrap());
    assert!(upper <= 0.01 && upper > 15.0 / wakeups, "{bound}");
}

#[test]
fn a_run_that_does_not_decide_says_how_much_longer_it_needs() {
    let bench = Bench::new();
    let more = ["--until", "decided", "--limit", "1h", "--duration", "1s"];
    let (run, shown, text) = decided(&bench, "open.run.json", &more, 4);
    assert_eq!(run["phases"][0]["until"], serde_json::json!({"decision": "undecided", "early": false}));
    assert!(text.contains("the data do not decide whether at most 1 in 1 million wake-ups"), "{text}");
    assert!(text.contains("If nothing more is late, "), "{text}");
    assert!(shown["until"]["phases"][0]["needs_more_ns"].as_u64().unwrap() > 60_000_000_000);
    // A refuted claim does not end a run that waits for support.
    let more = ["--until", "supported", "--limit", "1ns", "--duration", "2s"];
    let (run, _, text) = decided(&bench, "waits.run.json", &more, 3);
    assert_eq!(run["phases"][0]["until"], serde_json::json!({"decision": "refuted", "early": false}));
    assert!(text.contains("the data refute that"), "{text}");
}
