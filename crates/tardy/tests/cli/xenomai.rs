//! `--probe xenomai` on captured output, since no Cobalt kernel was available. A script in place of `latency` prints
//! the captured output of Xenomai 3's `latency -h`, with the name of the requested level.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::bench::{Bench, Printed};

const CAPTURED: &str = include_str!("../../../tardy-formats/tests/fixtures/xenomai3-latency-h.txt");

/// A machine with a Cobalt core, whose `latency` is this script.
fn machine(bench: &Bench, script: &str) -> PathBuf {
    let root = bench.path("machine");
    for (path, text) in [
        ("proc/xenomai/version", "3.1\n"),
        ("proc/xenomai/clock/coreclk", "gravity: irq=99 kernel=1341 user=1341\n"),
        ("captured.txt", CAPTURED),
        ("usr/xenomai/bin/latency", script),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    fs::set_permissions(root.join("usr/xenomai/bin/latency"), fs::Permissions::from_mode(0o755)).unwrap();
    root
}

fn run(bench: &Bench, script: &str) -> Printed {
    let root = machine(bench, script);
    let root = root.to_str().unwrap();
    let words =
        ["run", "-q", "--probe", "xenomai", "--kernel-root", root, "--duration", "3s", "-o", "x.run.json"];
    let words = [&words[..], &["--interval", "500us", "-p", "99", "--cpus", "0"]].concat();
    // Another program called latency on this machine must not be found.
    Printed::from(bench.command(&words).env("PATH", "/bin:/usr/bin").output().unwrap())
}

const LATENCY_SCRIPT: &str = r#"#!/bin/sh
echo "$@" >> "$(dirname "$0")/asked"
case "$1" in
-t0) mode="periodic user-mode task" ;;
-t1) mode="in-kernel periodic task" ;;
-t2) mode="in-kernel timer handler" ;;
esac
sed "s/periodic user-mode task/$mode/" "$(dirname "$0")/../../../captured.txt"
"#;

#[test]
fn three_levels_are_measured_one_after_the_other() {
    let bench = Bench::new();
    let shown = run(&bench, LATENCY_SCRIPT).exits(0);
    for level in ["timer IRQ", "kernel thread", "user thread", "co-kernel"] {
        assert!(shown.out.contains(level), "{level}: {}", shown.out);
    }
    assert!(shown.out.contains("gravity"), "{}", shown.out);
    let asked = fs::read_to_string(bench.path("machine/usr/xenomai/bin/asked")).unwrap();
    let asked: Vec<&str> = asked.lines().collect();
    assert_eq!(asked[0], "-t0 -h -H10000 -p 500 -P 99 -c 0 -T 3");
    assert_eq!(asked.iter().map(|line| &line[..3]).collect::<Vec<_>>(), ["-t0", "-t1", "-t2"]);
    let run = bench.json("x.run.json");
    let levels: Vec<_> = run["series"].as_array().unwrap().iter().map(|one| &one["level"]).collect();
    assert_eq!(levels, ["user-thread", "kernel-thread", "irq"]);
    assert_eq!(run["series"][0]["max_ns"], 2_296_534);
    assert_eq!(run["plan"]["phases"][0]["probe"]["gravity"], "irq 99 ns, kernel 1341 ns, user 1341 ns");
    let report = bench.run(&["report", "x.run.json", "-o", "x.html"]).exits(0);
    assert!(fs::read_to_string(bench.path("x.html")).unwrap().contains("co-kernel"), "{}", report.err);
}

#[test]
fn a_program_that_fails_invalidates_its_phase_with_its_last_output() {
    let bench = Bench::new();
    let shown =
        run(&bench, "#!/bin/sh\necho 'latency: failed to create timer task, code -1' >&2\nexit 3\n").exits(5);
    assert!(shown.out.contains("exit status 3"), "{}", shown.out);
    assert!(shown.out.contains("failed to create timer task"), "{}", shown.out);
}

#[test]
fn a_missing_core_is_an_error_before_the_measurement() {
    let bench = Bench::new();
    let words = ["run", "--probe", "xenomai", "--kernel-root"];
    let bare = bench.path("bare");
    fs::create_dir(&bare).unwrap();
    let shown = bench.run(&[&words[..], &[bare.to_str().unwrap()]].concat()).exits(1);
    assert!(shown.err.contains("/proc/xenomai") && shown.err.contains("--probe kernel"), "{}", shown.err);
    let shown = bench.run(&["run", "--probe", "xenomai", "--fake", "1"]).exits(1);
    assert!(shown.err.contains("not simulated"), "{}", shown.err);
}

#[test]
fn output_of_another_level_or_duration_invalidates_the_run() {
    let spoilt_by = |bench: &Bench, phase: usize| {
        let run = bench.json("x.run.json");
        run["phases"][phase]["spoilt_by"][0].as_str().unwrap_or_default().to_owned()
    };
    let bench = Bench::new();
    // A program that always measures the same level.
    run(&bench, "#!/bin/sh\ncat \"$(dirname \"$0\")/../../../captured.txt\"\n").exits(5);
    let expected = "Xenomai latency was asked for the kernel thread, and reports that it is the user thread";
    assert_eq!((spoilt_by(&bench, 0).as_str(), spoilt_by(&bench, 1).as_str()), ("", expected));
    let bench = Bench::new();
    let short = LATENCY_SCRIPT
        .replace("captured.txt\"", "captured.txt\" | sed 's|00:00:04/00:00:04|00:00:01/00:00:01|'");
    run(&bench, &short).exits(5);
    assert_eq!(spoilt_by(&bench, 0), "Xenomai latency was asked to measure for 3s, and measured for 1s");
}

#[test]
fn its_remaining_processes_are_not_waited_for() {
    let bench = Bench::new();
    let script = LATENCY_SCRIPT.replace("case \"$1\"", "sleep 1000 &\ncase \"$1\"");
    run(&bench, &script).exits(0);
}
