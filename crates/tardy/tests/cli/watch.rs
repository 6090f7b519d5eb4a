//! `tardy watch` on a program of `tests/programs`, and `tardy run --on-late` on the fake probe: what happens when it is late.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::attach::{Program, can_watch};
use crate::bench::{Bench, Printed, wait_until};
use crate::probe_program::{as_a_user, capable_tardy};

/// The program whose work takes two periods in every 50th cycle, so that the next wake-up is one period late.
const LATE: [&str; 5] = ["absolute", "work", "2000", "1000000", "50"];

/// Watches the program with these arguments. `None`, with the reason on standard error, if this machine cannot.
fn watched(bench: &Bench, arguments: &[&str]) -> Option<Printed> {
    if !can_watch(bench) {
        return None;
    }
    let program = Program::start(bench, &LATE);
    let pid = program.0.id().to_string();
    wait_until("the program runs", || Path::new(&format!("/proc/{pid}/task")).exists());
    Some(bench.run(&[&["watch", &pid, "--quiet", "--warmup", "300ms"], arguments].concat()))
}

/// The files of a directory whose names have this end, in the order of their names.
fn files(bench: &Bench, directory: &str, end: &str) -> Vec<String> {
    let entries = fs::read_dir(bench.path(directory)).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name.ends_with(end))
        .collect();
    names.sort();
    names
}

#[test]
fn each_run_is_complete_and_the_command_receives_a_late_cycle_that_its_run_has() {
    let bench = Bench::new();
    let command = "cat \"$TARDY_LATE_RUN\" > first.json; env | grep ^TARDY_LATE_ > variables";
    let arguments = [
        "--late",
        "1ms",
        "--on-late",
        command,
        "--every",
        "1s",
        "--duration",
        "3500ms",
        "-o",
        "runs",
        "--json",
    ];
    let Some(printed) = watched(&bench, &arguments) else { return };
    let printed = printed.exits(0);
    let runs = files(&bench, "runs", ".run.json");
    assert!(runs.len() >= 3, "{runs:?}");
    for name in &runs {
        let run = bench.json(&format!("runs/{name}"));
        assert_eq!(run["progress"]["state"], "complete", "{name}");
        let tally = &run["series"][0]["tally"];
        let sum: u64 = ["recorded", "missed", "dropped"].iter().map(|key| tally[key].as_u64().unwrap()).sum();
        assert_eq!(tally["attempted"], sum, "{name}: {tally}");
        assert!(tally["recorded"].as_u64().unwrap() > 0, "{name}: {tally}");
        assert!(name.contains(run["origin"]["id"].as_str().unwrap()));
    }
    let variables = fs::read_to_string(bench.path("variables")).unwrap();
    let variable = |name: &str| {
        let line = variables.lines().find_map(|line| line.strip_prefix(&format!("TARDY_LATE_{name}=")));
        line.unwrap_or_else(|| panic!("{name}: {variables}")).to_owned()
    };
    assert_eq!(variable("THREAD"), "control");
    let late_ns: i64 = variable("NS").parse().unwrap();
    assert!(late_ns > 1_000_000, "{variables}");
    assert!(variable("COUNT").parse::<u64>().unwrap() >= 1);
    // The run was written before the command began.
    let first = bench.json("first.json");
    let causes = first["series"][0]["kind"]["thread"]["late"].as_array().unwrap().iter();
    assert!(causes.into_iter().any(|cycle| cycle["latency_ns"] == late_ns), "{late_ns}");
    let ring: Value = serde_json::from_str(&printed.out).unwrap();
    let last = ring["last"].as_array().unwrap();
    assert!(ring["late"].as_u64().unwrap() >= last.len() as u64 && last.len() > 3, "{ring}");
    let is_previous = |entry: &Value| entry["causes"][0]["why"] == "previous_cycle";
    assert!(last.iter().filter(|entry| is_previous(entry)).count() > 2, "{ring:#}");
    let file = bench.json(&format!("runs/{}", files(&bench, "runs", ".late.json")[0]));
    assert_eq!(file, ring);
    // The distance between two commands is one minute, and the run is shorter.
    assert_eq!(printed.err.matches("woke up").count(), 1, "{}", printed.err);
    let left = fs::read_dir("/sys/kernel/tracing/instances").unwrap().flatten();
    assert!(left.into_iter().all(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        !runs.iter().any(|run| name.contains(run.trim_start_matches("tardy-").trim_end_matches(".run.json")))
    }));
}

#[test]
fn old_runs_are_removed_and_others_stay() {
    let bench = Bench::new();
    fs::create_dir(bench.path("runs")).unwrap();
    fs::write(bench.path("runs/tardy-20200101-000000.run.json"), "another").unwrap();
    let arguments = ["--every", "400ms", "--duration", "2s", "-o", "runs", "--runs", "2"];
    let Some(printed) = watched(&bench, &arguments) else { return };
    printed.exits(0);
    assert_eq!(files(&bench, "runs", ".run.json").len(), 3);
    assert!(bench.path("runs/tardy-20200101-000000.run.json").exists());
}

#[test]
fn stopping_keeps_the_trace_of_the_late_wake_up() {
    let bench = Bench::new();
    let arguments = ["--late", "1ms", "--stop-on-late", "-o", "runs"];
    let Some(printed) = watched(&bench, &arguments) else { return };
    let printed = printed.exits(0);
    assert!(printed.out.contains("Watching ended because a cycle was late"), "{}", printed.out);
    let runs = files(&bench, "runs", ".run.json");
    let run = bench.json(&format!("runs/{}", runs[0]));
    let worst = run["series"][0]["worst"].as_array().unwrap();
    let moments = worst.iter().filter(|one| one["latency_ns"].as_i64().unwrap() > 1_000_000);
    assert!(moments.into_iter().any(|one| one["moment"]["events"].is_array()), "{worst:#?}");
    let run = format!("runs/{}", runs[0]);
    bench.run(&["export", &run, "--to", "ftrace", "-o", "trace.txt"]).exits(0);
    assert!(fs::read_to_string(bench.path("trace.txt")).unwrap().contains("comm=control"));
}

#[test]
fn a_command_that_hangs_or_fails_does_not_stop_the_watching() {
    for (command, message) in [("sleep 1000", "was ended after 200ms"), ("exit 3", "ended with status 3")] {
        let bench = Bench::new();
        let arguments = [
            &["--late", "1ms", "--on-late", command, "--on-late-timeout", "200ms", "--on-late-distance"][..],
            &["300ms", "--duration", "2s", "-o", "runs"],
        ]
        .concat();
        let Some(printed) = watched(&bench, &arguments) else { return };
        let printed = printed.exits(0);
        assert!(printed.err.matches(message).count() >= 2, "{}", printed.err);
    }
}

#[test]
fn a_redacted_watch_names_neither_the_machine_nor_the_program() {
    let bench = Bench::new();
    let command = "printf %s \"$TARDY_LATE_RUN\" > late";
    let arguments = [
        "--late",
        "1ms",
        "--on-late",
        command,
        "--every",
        "700ms",
        "--duration",
        "2s",
        "-o",
        "runs",
        "--redact",
    ];
    let Some(printed) = watched(&bench, &arguments) else { return };
    let printed = printed.exits(0);
    assert!(bench.path("late").exists(), "no cycle was late: {}", printed.err);
    // The ring of late cycles has names that the program chose.
    assert_eq!(files(&bench, "runs", ".late.json"), [""; 0]);
    let runs = files(&bench, "runs", ".run.json");
    assert!(runs.len() >= 2, "{runs:?}");
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    for name in &runs {
        let run = bench.json(&format!("runs/{name}"));
        assert!(run["redacted"].as_array().unwrap().contains(&"origin.host".into()), "{}", run["redacted"]);
        assert!(run["series"][0]["tally"]["recorded"].as_u64().unwrap() > 0, "{name}");
        let text = fs::read_to_string(bench.path(&format!("runs/{name}"))).unwrap();
        assert!(!text.contains("\"control") && !text.contains(boot_id.trim()), "{name}");
    }
}

#[test]
fn a_run_starts_the_command_for_its_own_late_wake_ups() {
    let bench = Bench::new();
    let command = "printf '%s %s %s' \"$TARDY_LATE_THREAD\" $TARDY_LATE_NS \"$TARDY_LATE_RUN\" > late";
    let arguments = ["run", "--fake", "7", "--duration", "10s", "-o", "a.run.json", "--quiet"];
    bench.run(&[&arguments[..], &["--late", "1us", "--on-late", command]].concat()).exits(0);
    let text = fs::read_to_string(bench.path("late")).unwrap();
    let words: Vec<&str> = text.split(' ').collect();
    assert!(text.starts_with("cpu ") && text.ends_with("/a.run.json"), "{text}");
    assert!(words[2].parse::<i64>().unwrap() > 1000, "{text}");
    // No wake-up is that late.
    fs::remove_file(bench.path("late")).unwrap();
    bench.run(&[&arguments[..], &["--force", "--late", "1h", "--on-late", command]].concat()).exits(0);
    assert!(!bench.path("late").exists());
}

#[test]
fn the_command_has_no_capability_that_tardys_file_has() {
    let Some((bench, tardy)) = capable_tardy("cap_sys_nice,cap_dac_override=ep") else { return };
    let script = "grep ^Cap /proc/self/status; grep ^Uid: /proc/self/status";
    let words = ["run", "--fake", "7", "--duration", "5s", "--quiet", "--late", "1us", "--on-late", script];
    let output = as_a_user(&bench, &tardy, 64).args(words).args(["-o", "a.run.json"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert!(text.contains(&format!("{set}:\t0000000000000000")), "{text}");
    }
    assert!(text.contains("Uid:\t") && !text.contains("Uid:\t0"), "{text}");
}
