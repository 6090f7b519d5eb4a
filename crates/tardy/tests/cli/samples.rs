//! `--samples`: the samples in the file add up to the run, and lost samples are counted.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Running, wait_until};
use crate::killed::{least_counted_in, map_of};
use serde_json::Value;

/// One line of the file.
struct Line {
    cycle: u64,
    at_ns: u64,
    latency_ns: i64,
}

/// The samples by phase and CPU, in the order of the file. Panics unless every line has five integers.
fn read(path: &Path) -> BTreeMap<(u64, u64), Vec<Line>> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "the last line is whole");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("phase,cpu,cycle,at_ns,latency_ns"));
    let mut all: BTreeMap<_, Vec<Line>> = BTreeMap::new();
    for line in lines {
        let fields: Vec<i64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        let [phase, cpu, cycle, at_ns, latency_ns] = fields[..] else { panic!("five columns: {line}") };
        let line = Line { cycle: cycle as u64, at_ns: at_ns as u64, latency_ns };
        all.entry((phase as u64, cpu as u64)).or_default().push(line);
    }
    all
}

fn recorded(run: &Value) -> u64 {
    run["series"].as_array().unwrap().iter().map(|s| s["tally"]["recorded"].as_u64().unwrap()).sum()
}

/// The numbers of samples kept and lost. Asserts that their sum is the number recorded.
fn account(run: &Value) -> (u64, u64) {
    let count = |key: &str| run["samples"][key].as_u64().unwrap();
    assert_eq!(count("kept") + count("lost"), recorded(run), "{}", run["samples"]);
    (count("kept"), count("lost"))
}

/// The limits of the result, which every summary and report shows.
fn limits(run: &Value) -> String {
    run["validity"]["limits"].to_string()
}

fn check_series(run: &Value, series: &Value, lines: &[Line]) {
    let tally = |key: &str| series["tally"][key].as_u64().unwrap();
    assert_eq!(lines.len() as u64, tally("recorded"), "{}", series["label"]);
    let highest = lines.iter().max_by_key(|line| line.latency_ns).unwrap();
    assert_eq!(Some(highest.latency_ns), series["max_ns"].as_i64());
    assert_eq!(lines.iter().map(|line| line.latency_ns).min(), series["min_ns"].as_i64());
    assert_eq!(Some(lines.iter().map(|line| line.latency_ns).sum()), series["sum_ns"].as_i64());
    let at_maximum = lines.iter().find(|line| line.latency_ns == highest.latency_ns).unwrap();
    assert_eq!(Some(at_maximum.at_ns), series["max_at_ns"].as_u64());
    assert!(lines.windows(2).all(|pair| pair[0].cycle < pair[1].cycle && pair[0].at_ns <= pair[1].at_ns));
    let last = lines.last().unwrap();
    assert!(last.cycle < tally("attempted"));
    let absent = tally("attempted") - lines.len() as u64;
    assert_eq!(absent, tally("missed") + tally("dropped"), "missed cycles have no line");
    let phase = &run["phases"][series["phase"].as_u64().unwrap() as usize];
    assert!(lines[0].at_ns >= phase["start_ns"].as_u64().unwrap());
    assert_eq!(run["phases"].as_array().unwrap().len(), 2);
    assert!(last.at_ns <= phase["end_ns"].as_u64().unwrap());
}

#[test]
fn the_file_adds_up_to_the_run() {
    let bench = Bench::new();
    let wakes = "clock_nanosleep,setitimer";
    let arguments = [
        "run",
        "--duration",
        "1s",
        "--warmup",
        "50ms",
        "--wake",
        wakes,
        "-o",
        "a.run.json",
        "--samples",
        "a.csv",
    ];
    let printed = bench.run(&arguments).exits(0);
    let run = bench.json("a.run.json");
    let mut lines = read(&bench.path("a.csv"));
    for series in run["series"].as_array().unwrap() {
        let key = (series["phase"].as_u64().unwrap(), series["kind"]["cpu"].as_u64().unwrap());
        check_series(&run, series, &lines.remove(&key).unwrap());
    }
    assert!(lines.is_empty(), "every sample belongs to a series");
    assert_eq!(run["samples"]["path"], "a.csv");
    let (kept, lost) = account(&run);
    assert_eq!(lost, 0);
    assert!(printed.err.contains(&format!("samples a.csv: {kept} kept, 0 lost")), "{}", printed.err);
    for cost in run["self_cost"].as_array().unwrap().iter().filter(|cost| cost["phase"].is_u64()) {
        assert_eq!((&cost["minor_faults"], &cost["major_faults"]), (&0.into(), &0.into()), "{cost}");
    }
}

#[test]
fn a_fake_run_has_the_same_samples_every_time_and_loses_none() {
    let bench = Bench::new();
    for name in ["a", "b"] {
        // Ten times the ring's capacity, so that it wraps around.
        let wakes = "clock_nanosleep,setitimer";
        let (run, samples) = (format!("{name}.run.json"), format!("{name}.csv"));
        let arguments = ["run", "--fake", "7", "--quiet", "--duration", "65s", "--wake", wakes];
        let arguments = [&arguments[..], &["-o", &run, "--samples", &samples]].concat();
        bench.run(&arguments).exits(0);
        assert_eq!(account(&bench.json(&run)).1, 0);
    }
    let bytes = fs::read(bench.path("a.csv")).unwrap();
    assert_eq!(
        bytes.iter().filter(|byte| **byte == b'\n').count() as u64,
        1 + recorded(&bench.json("a.run.json"))
    );
    assert!(bytes == fs::read(bench.path("b.csv")).unwrap(), "the same bytes");
}

#[test]
fn an_existing_file_is_replaced_with_force_and_never_by_a_dry_run() {
    let bench = Bench::new();
    let run = |more: &[&str]| {
        let arguments = ["run", "--fake", "1", "--duration", "1s", "-o", "a.run.json", "--samples", "a.csv"];
        bench.run(&[&arguments[..], more].concat())
    };
    run(&["--dry-run"]).exits(0);
    assert!(!bench.path("a.csv").exists());
    fs::write(bench.path("a.csv"), "precious").unwrap();
    let refused = run(&[]).exits(1);
    assert!(refused.err.contains("a.csv exists; use --force to overwrite it"), "{}", refused.err);
    run(&["--force", "--dry-run"]).exits(0);
    assert_eq!(fs::read_to_string(bench.path("a.csv")).unwrap(), "precious");
    assert!(!bench.path("a.run.json").exists());
    run(&["--force"]).exits(0);
    assert!(!read(&bench.path("a.csv")).is_empty());
}

#[test]
fn the_samples_file_must_be_writable_and_no_other_output() {
    let bench = Bench::new();
    let run = |more: &[&str]| {
        let arguments = ["run", "--fake", "1", "--duration", "1s", "-o", "a.run.json"];
        let printed = bench.run(&[&arguments[..], more].concat());
        assert!(matches!(printed.code, Some(1 | 2)), "{printed:?}");
        assert!(!bench.path("a.run.json").exists());
        printed.err
    };
    let error = run(&["--samples", "./a.run.json", "--force"]);
    assert!(error.contains("is also the run file"), "{error}");
    let error = run(&["--samples", "a.html", "--report", "--force"]);
    assert!(error.contains("a.html is the samples file"), "{error}");
    let error = run(&["--samples", "no/such/place.csv"]);
    assert!(error.contains("no/such/place.csv cannot be written: No such file"), "{error}");
    let error = run(&["--samples", "/dev/full", "--force"]);
    assert!(error.contains("/dev/full cannot be written: No space left"), "{error}");
    assert_eq!(fs::read_dir(bench.path(".")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_stalled_supervisor_loses_samples_and_reports_it() {
    let bench = Bench::new();
    // On a loaded machine cycles are missed, so no fixed length is certain to overflow the ring.
    let mut supervisor = start(&bench, "1h");
    let map = map_of(&bench.path("a.run.json"));
    // A supervisor that is stopped before the probe's threads are at work may not have started them.
    wait_until("the first sample", || least_counted_in(&map) > 0);
    signal(supervisor.id(), "STOP");
    // The supervisor has taken the earlier samples from the ring.
    let taken = least_counted_in(&map);
    wait_until("more samples than the ring of 4,096 holds", || least_counted_in(&map) > taken + 4_150);
    signal(supervisor.id(), "CONT");
    signal(supervisor.id(), "INT");
    assert_eq!(supervisor.wait().unwrap().code(), Some(1));
    let run = bench.json("a.run.json");
    let (kept, lost) = account(&run);
    assert!(lost > 0);
    let lines = read(&bench.path("a.csv"));
    assert_eq!(lines.values().map(|lines| lines.len() as u64).sum::<u64>(), kept);
    for lines in lines.values() {
        assert!(lines.windows(2).all(|pair| pair[0].cycle < pair[1].cycle), "in order, with a gap");
    }
    let warnings = run["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "warning");
    assert_eq!(
        warnings.filter(|event| event["text"].as_str().unwrap().contains("faster than a.csv")).count(),
        1
    );
    assert!(limits(&run).contains("are not in a.csv"), "{}", limits(&run));
}

#[test]
fn a_killed_supervisor_leaves_whole_lines_and_their_count_in_the_run() {
    let bench = Bench::new();
    let mut supervisor = start(&bench, "1h");
    let begun = Instant::now();
    while fs::metadata(bench.path("a.csv")).map_or(0, |file| file.len()) < 20_000 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the file never grew");
        thread::sleep(Duration::from_millis(5));
    }
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    let before = fs::read(bench.path("a.csv")).unwrap();
    let lines = read(&bench.path("a.csv")).values().map(|lines| lines.len() as u64).sum::<u64>();
    // The probe dies with the supervisor, but not at the same instant.
    while bench.json("a.run.json")["progress"]["state"] != "cut_short" {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run is not sealed");
        bench.run(&["recover", "a.run.json"]);
    }
    let run = bench.json("a.run.json");
    let (kept, lost) = account(&run);
    assert!(kept > 0 && kept <= lines, "{kept} kept, {lines} lines");
    assert!(lines - kept <= 4096 / 10, "at most one write call is not accounted for");
    assert_eq!(limits(&run).contains("are not in a.csv"), lost > 0, "{}", limits(&run));
    assert_eq!(fs::read(bench.path("a.csv")).unwrap(), before, "recovering a run writes no other file");
}

fn start(bench: &Bench, duration: &str) -> Running {
    let arguments = ["run", "--quiet", "--duration", duration, "--warmup", "0s", "--interval", "1ms"];
    let arguments = [&arguments[..], &["-o", "a.run.json", "--samples", "a.csv"]].concat();
    let child = bench.start(&arguments);
    let begun = Instant::now();
    while !bench.path("a.run.json").exists() || bench.json("a.run.json")["phases"][0].is_null() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the measurement never began");
        thread::sleep(Duration::from_millis(5));
    }
    child
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}
