//! Loads in the run file and in the summary. The loads themselves are tested in tardy-load.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use tardy_sys::child::{send, signal};
use tardy_sys::shared_map::SharedMap;

use crate::bench::{Bench, Printed, wait_until};
use crate::killed::{least_counted_in, map_of};
use crate::probe_program::{as_a_user, copy_of_tardy, is_root};

/// Loads that every machine can run, and their parts.
type Tried = [(&'static str, &'static [&'static str]); 2];
/// A load with one worker, and a load with two.
const COUNTING: Tried = [("timers:4", &["timers"]), ("ipi", &["mprotect", "affinity"])];
/// Loads that hardly use the CPUs, so that tardy is not delayed when it looks for dead workers.
const LIGHT: Tried = [("timers:4", &["timers"]), ("cmd:sleep 1000", &["command"])];

fn run_with(loads: Tried, duration: &str) -> Vec<&str> {
    let mut arguments =
        vec!["run", "--quiet", "--duration", duration, "--interval", "1ms", "-o", "a.run.json"];
    for (name, _) in loads {
        arguments.extend(["--load", name]);
    }
    arguments
}

#[test]
fn loads_count_during_a_run() {
    let bench = Bench::new();
    let printed = bench.run(&run_with(COUNTING, "1s"));
    // On a busy machine some may slacken, which makes the run invalid.
    assert!(matches!(printed.code, Some(0 | 5)), "{}\n{}", printed.out, printed.err);
    assert!(!printed.out.contains(" died, "), "{}", printed.out);
    let run = bench.json("a.run.json");
    for ((name, parts), load) in COUNTING.iter().zip(run["loads"].as_array().unwrap()) {
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
fn a_load_whose_worker_is_killed_makes_the_run_invalid() {
    let bench = Bench::new();
    let tardy = bench.start(&run_with(LIGHT, "1h"));
    let path = bench.path("a.run.json");
    wait_until("the run file", || path.exists());
    let map = map_of(&path);
    wait_until("readings", || {
        SharedMap::open(std::path::Path::new(&map)).is_ok() && least_counted_in(&map) > 10
    });
    let loads = children(tardy.id(), "tardy-loads")[0];
    for part in LIGHT.iter().flat_map(|(_, parts)| *parts) {
        let name = format!("tardy-{part}");
        let workers = children(loads, &name);
        assert_eq!(workers.len(), 1, "{name}");
        send(workers[0], signal::KILL).unwrap();
        wait_until("its end", || children(loads, &name).is_empty());
    }
    // tardy reads the loads once per second.
    let cycles = least_counted_in(&map);
    wait_until("three more seconds", || least_counted_in(&map) > cycles + 3_000);
    send(tardy.id(), signal::TERMINATE).unwrap();
    let printed = tardy.printed().exits(5);
    let run = bench.json("a.run.json");
    assert_eq!(run["validity"]["valid"], false);
    let reasons: BTreeSet<&str> = run["validity"]["spoilt_by"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason.as_str().unwrap())
        .collect();
    for (load, parts) in LIGHT {
        for part in parts {
            let begin = format!("load {load} ({part}) died");
            assert!(reasons.iter().any(|reason| reason.starts_with(&begin)), "{begin} in {reasons:?}");
            assert!(printed.out.contains(&begin), "{begin} in {}", printed.out);
        }
    }
}

/// Processes of this name that `parent` has started and not yet waited for.
fn children(parent: u32, name: &str) -> Vec<u32> {
    let is_it = |pid: &u32| {
        let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
        let Some((head, tail)) = text.rsplit_once(')') else { return false };
        head.ends_with(&format!("({name}")) && tail.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_it).collect()
}

#[test]
fn phases_have_their_own_loads_on_the_command_line_and_in_recipes() {
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

/// One floor that no machine reaches, and one that every machine reaches.
#[test]
fn a_phase_whose_load_stays_below_its_floor_is_invalid() {
    let bench = Bench::new();
    let arguments = |floor| {
        // Long enough for two readings of the load between which it works, on a busy machine too.
        let run = ["run", "--quiet", "--duration", "3s", "--interval", "1ms", "--load", "cpu"];
        [&run[..], &["--load-floor", floor, "--force", "-o", "a.run.json"]].concat()
    };
    for (floor, is_below) in [("cpu=1000000G", true), ("cpu=0.001", false)] {
        let printed = bench.run(&arguments(floor));
        assert!(matches!(printed.code, Some(0 | 5)), "{}\n{}", printed.out, printed.err);
        let reasons = bench.json("a.run.json")["validity"]["spoilt_by"].to_string();
        assert_eq!(reasons.contains("below its floor"), is_below, "{floor}: {reasons}");
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
        // In the second part: the error must come before the first is measured.
        let part = format!("{load} 1s");
        let words = ["run", "--phase", "idle 1h", "--phase", &part, "-o", "a.run.json"];
        // Root's programs are not looked for in PATH.
        let output = if is_root() {
            let tardy = copy_of_tardy(&bench, None).unwrap();
            let mut user = as_a_user(&bench, Path::new("env"), 64);
            user.arg("PATH=/nonexistent").arg(tardy).args(words).output()
        } else {
            bench.command(&words).env("PATH", "/nonexistent").output()
        };
        let printed = Printed::from(output.unwrap()).exits(2);
        assert!(printed.err.contains(&format!("apt install {package}")), "{}", printed.err);
        assert!(!bench.path("a.run.json").exists());
    }
}
