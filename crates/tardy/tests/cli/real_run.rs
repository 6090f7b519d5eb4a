//! Real measurements on any machine: numbers are compared with each other and with the kernel's, never with absolute
//! times.

use crate::bench::Bench;
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
    wait_until(|| path.exists() && phase_has_begun(&path));
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

pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "it never came true");
        std::thread::yield_now();
    }
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
