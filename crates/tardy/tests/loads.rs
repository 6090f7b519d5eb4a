//! Every built-in load beside a real measurement, and what a killed one does to its run. A program of its own, so that no
//! other test runs beside it: with all loads at once a machine does little else.

#[allow(dead_code, reason = "the command line's other tests need more of it")]
#[path = "cli/bench.rs"]
mod bench;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tardy_sys::child::{send, signal};

use crate::bench::{Bench, Printed};

/// Tests that load the machine take turns.
fn machine_is_mine() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads that need nothing but this machine, and the parts that they are made of. Those of doload are tried as doload.
const LOADS: [(&str, &[&str]); 11] = [
    ("scheduler:1,2,64", &["scheduler"]),
    ("cpu", &["cpu"]),
    ("memory:1", &["memory"]),
    ("io", &["io"]),
    ("fork", &["fork"]),
    ("timers:4", &["timers"]),
    ("signals", &["signals"]),
    ("compile", &["compile"]),
    ("ipi", &["mprotect", "affinity"]),
    ("net", &["tcp", "udp"]),
    ("ping-flood", &["ping"]),
];

/// Those that can run here; tells which cannot.
fn loads(bench: &Bench) -> Vec<(&'static str, &'static [&'static str])> {
    let can_run = |(name, _): &(&str, &[&str])| {
        let printed = bench.run(&["load", name, "--duration", "1ms"]);
        let is_excuse = printed.err.contains("is not installed") || printed.err.contains("ping_group_range");
        assert!(printed.code == Some(0) || is_excuse, "{name}: {}", printed.err);
        if is_excuse {
            println!("skipped: {}", printed.err);
        }
        !is_excuse
    };
    LOADS.into_iter().filter(can_run).collect()
}

fn run_with<'a>(loads: &[(&'a str, &[&str])], duration: &'a str) -> Vec<&'a str> {
    let mut arguments =
        vec!["run", "--quiet", "--duration", duration, "--interval", "1ms", "-o", "a.run.json"];
    for (name, _) in loads {
        arguments.extend(["--load", name]);
    }
    arguments
}

#[test]
fn every_load_counts_beside_a_measurement() {
    let _turn = machine_is_mine();
    let bench = Bench::new();
    let loads = loads(&bench);
    let printed = bench.run(&run_with(&loads, "2s"));
    // On a machine with this much to do some may slacken, which is for the run to say.
    assert!(matches!(printed.code, Some(0 | 5)), "{}\n{}", printed.out, printed.err);
    assert!(!printed.out.contains(" died, "), "{}", printed.out);
    let run = bench.json("a.run.json");
    for ((name, parts), load) in loads.iter().zip(run["loads"].as_array().unwrap()) {
        assert_eq!(load["spec"], *name);
        assert_eq!(names(load), *parts);
        for part in load["parts"].as_array().unwrap() {
            assert!(part["done"].as_array().unwrap().last().unwrap().as_u64() > Some(0), "{part}");
        }
    }
}

fn names(load: &Value) -> Vec<&str> {
    load["parts"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect()
}

#[test]
fn each_load_whose_worker_is_killed_makes_the_run_invalid() {
    let _turn = machine_is_mine();
    let bench = Bench::new();
    let loads = loads(&bench);
    let house = bench.command(&run_with(&loads, "1h")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let house = house.unwrap();
    let path = bench.path("a.run.json");
    let has_begun = || {
        let run: Value = serde_json::from_str(&std::fs::read_to_string(&path).ok()?).ok()?;
        run["loads"].as_array()?.last()?["parts"][0]["at_ns"].as_array()?.last().cloned()
    };
    wait_until("all loads have been read", || has_begun().is_some());
    let supervisor = *children(house.id(), "tardy-loads").first().unwrap();
    for part in loads.iter().flat_map(|(_, parts)| *parts) {
        let name: String = format!("tardy-{part}").chars().take(15).collect();
        let workers = children(supervisor, &name);
        assert_eq!(workers.len(), 1, "{name}");
        send(workers[0], signal::KILL).unwrap();
        wait_until("it is gone", || children(supervisor, &name).is_empty());
    }
    wait_until("every death is in the run file", || {
        let run = bench.json("a.run.json");
        let parts =
            run["loads"].as_array().unwrap().iter().flat_map(|load| load["parts"].as_array().unwrap());
        parts.clone().count() > 0 && parts.into_iter().all(|part| part["deaths"][0].is_object())
    });
    send(house.id(), signal::TERMINATE).unwrap();
    let printed = Printed::from(house.wait_with_output().unwrap()).exits(5);
    let run = bench.json("a.run.json");
    assert_eq!(run["validity"]["valid"], false);
    let spoilt: BTreeSet<&str> = run["validity"]["spoilt_by"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason.as_str().unwrap())
        .collect();
    for (load, parts) in &loads {
        for part in *parts {
            let begin = format!("load {load} ({part}) died");
            assert!(spoilt.iter().any(|reason| reason.starts_with(&begin)), "{begin} in {spoilt:?}");
            assert!(printed.out.contains(&begin), "{begin} in {}", printed.out);
        }
    }
}

#[test]
fn parts_with_loads_of_their_own_are_typed_or_written() {
    let _turn = machine_is_mine();
    let bench = Bench::new();
    let typed = [
        "run",
        "--quiet",
        "--interval",
        "1ms",
        "--warmup",
        "10ms",
        "--phase",
        "idle 300ms",
        "--phase",
        "cpu 400ms",
    ];
    let written = "about = \"x\"\n[run]\nwarmup = \"10ms\"\n[timer]\ninterval = \"1ms\"\n\
                   [[phase]]\nname = \"idle\"\nduration = \"300ms\"\nload = [\"none\"]\n\
                   [[phase]]\nname = \"cpu\"\nduration = \"400ms\"\nload = [\"cpu\"]\n";
    std::fs::write(bench.path("parts.toml"), written).unwrap();
    for (arguments, file) in
        [(&typed[..], "a.run.json"), (&["run", "--quiet", "./parts.toml"][..], "b.run.json")]
    {
        let printed = bench.run(&[arguments, &["-o", file]].concat());
        assert!(matches!(printed.code, Some(0 | 5)), "{}\n{}", printed.out, printed.err);
        let run = bench.json(file);
        let labels: Vec<&str> =
            run["phases"].as_array().unwrap().iter().map(|phase| phase["label"].as_str().unwrap()).collect();
        assert_eq!(labels, ["idle", "cpu"]);
        assert_eq!(run["loads"].as_array().unwrap().len(), 1);
        assert_eq!((&run["loads"][0]["first_phase"], &run["loads"][0]["last_phase"]), (&1.into(), &1.into()));
    }
}

/// A floor that no machine reaches, and one that a load which works at all does.
#[test]
fn a_phase_whose_load_stays_below_its_floor_is_invalid() {
    let _turn = machine_is_mine();
    let bench = Bench::new();
    let arguments = |floor| {
        let run = ["run", "--quiet", "--duration", "400ms", "--interval", "1ms", "--load", "cpu"];
        [&run[..], &["--load-floor", floor, "--force", "-o", "a.run.json"]].concat()
    };
    for (floor, is_below) in [("cpu=1000000G", true), ("cpu=0.001", false)] {
        let printed = bench.run(&arguments(floor));
        assert!(matches!(printed.code, Some(0 | 5)), "{}\n{}", printed.out, printed.err);
        let spoilt = bench.json("a.run.json")["validity"]["spoilt_by"].to_string();
        assert_eq!(spoilt.contains("below its floor"), is_below, "{floor}: {spoilt}");
        assert_eq!(printed.out.contains("below its floor of 1000000000000000"), is_below, "{}", printed.out);
        assert!(!is_below || printed.code == Some(5));
    }
}

#[test]
fn a_program_that_is_missing_is_an_error_before_anything_is_measured() {
    let bench = Bench::new();
    for (load, package) in [
        ("iperf3:-s", "iperf3"),
        ("stress-ng:--cpu 1", "stress-ng"),
        ("hackbench", "rt-tests"),
        ("compile", "gcc"),
    ] {
        // In the second part, so that the first would be measured in vain.
        let part = format!("{load} 1s");
        let mut command: Command =
            bench.command(&["run", "--phase", "idle 1h", "--phase", &part, "-o", "a.run.json"]);
        let printed = Printed::from(command.env("PATH", "/nonexistent").output().unwrap()).exits(2);
        assert!(printed.err.contains(&format!("apt install {package}")), "{}", printed.err);
        assert!(!bench.path("a.run.json").exists());
    }
}

/// Processes of this name that `parent` has started.
fn children(parent: u32, name: &str) -> Vec<u32> {
    let status = |pid: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (head, tail) = text.rsplit_once(')')?;
        let mut words = tail.split_whitespace();
        let state = words.next()?;
        let is_it = head.ends_with(&format!("({name}")) && state != "Z";
        (is_it && words.next()?.parse() == Ok(parent)).then_some(pid)
    };
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(status).collect()
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
