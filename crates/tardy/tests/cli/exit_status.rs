//! The exit statuses of runs: 1 if interrupted or refused, 5 if invalid, 3 if the limit was exceeded, else 0.

use std::process::Command;

use crate::bench::{Bench, Printed};

#[test]
fn an_exceeded_limit_ends_with_3_and_showing_the_run_too() {
    let bench = Bench::new();
    let run = |limit: &'static str| {
        ["run", "--fake", "3", "--loops", "2000", "--quiet", "--force", "-o", "a.run.json", "--limit", limit]
    };
    bench.run(&run("1us")).exits(3);
    bench.run(&["show", "a.run.json"]).exits(3);
    bench.run(&["export", "a.run.json", "--to", "csv"]).exits(0);
    bench.run(&run("1s")).exits(0);
    bench.run(&["show", "a.run.json"]).exits(0);
}

/// `tardy` without the privilege to use a real-time policy, also if root runs this test.
fn without_priorities(bench: &Bench, arguments: &[&str]) -> Option<Printed> {
    let tardy = bench.command(arguments);
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice", "prlimit", "--rtprio=0"]);
    command.arg(tardy.get_program()).args(tardy.get_args()).current_dir(bench.path(""));
    let output = command.output().expect("setpriv is part of util-linux");
    if String::from_utf8_lossy(&output.stderr).contains("setpriv:") {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(Printed::from(output))
}

#[test]
fn a_policy_that_was_asked_for_and_is_refused_ends_the_run_before_it_measures() {
    let bench = Bench::new();
    let recipe = "about = \"rr\"\n[timer]\npolicy = \"rr\"\n[run]\nduration = \"1s\"\n";
    std::fs::write(bench.path("rr.toml"), recipe).unwrap();
    let run = ["run", "--duration", "1s", "--load", "none", "--quiet", "-o", "a.run.json"];
    for asked in [&["--policy", "fifo"][..], &["--priority", "50"], &["./rr.toml"]] {
        let arguments = [&run[..], asked].concat();
        let Some(printed) = without_priorities(&bench, &arguments) else { return };
        let printed = printed.exits(1);
        assert!(
            printed.err.contains("was refused") && printed.err.contains("--allow-degraded"),
            "{}",
            printed.err
        );
        assert!(!bench.path("a.run.json").exists(), "nothing was measured");
    }
    let degraded = [&run[..], &["--policy", "fifo", "--allow-degraded", "--force"]].concat();
    let first_minute = [&run[..], &["--force"]].concat();
    for arguments in [degraded, first_minute] {
        without_priorities(&bench, &arguments).expect("it worked before").exits(0);
        let run = bench.json("a.run.json");
        assert_eq!(run["series"][0]["kind"]["policy"], "other");
    }
}

#[test]
fn causes_that_cannot_be_traced_are_an_error() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("root/proc")).unwrap();
    let root = bench.path("root").display().to_string();
    let run = ["run", "--duration", "1s", "--causes", "--kernel-root", &root, "-o", "a.run.json"];
    let printed = bench.run(&run).exits(1);
    assert!(
        printed.err.contains("no cause can be traced") && printed.err.contains("tracefs"),
        "{}",
        printed.err
    );
    assert!(!bench.path("a.run.json").exists());
}

#[test]
fn a_machine_without_the_kernels_tracing_is_not_wrong_usage() {
    let bench = Bench::new();
    let bare = bench.path("bare");
    std::fs::create_dir(&bare).unwrap();
    for option in ["--probe=kernel", "--probe=timerlat", "--causes"] {
        let run = bench.run(&["run", "quick", option, "--kernel-root", bare.to_str().unwrap()]).exits(1);
        assert!(run.err.contains("trac"), "{option}: {}", run.err);
    }
}
