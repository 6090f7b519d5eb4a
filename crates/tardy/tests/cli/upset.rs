//! What happens to a measurement from outside makes the run invalid, with the reason and its time.

use crate::bench::{Bench, Running, send};
use crate::killed::{children, wait_until};
use crate::real_run::phase_has_begun;

/// A run of an hour on CPU 0 whose threads wait, and its probe.
fn measuring(bench: &Bench) -> (Running, u32) {
    let running =
        bench.start(&["run", "--cpus", "0", "--duration", "1h", "--load", "none", "-o", "a.run.json"]);
    let path = bench.path("a.run.json");
    wait_until("the phase", || path.exists() && phase_has_begun(&path));
    let mut probe = None;
    wait_until("the measuring thread", || {
        probe = children(running.id()).into_iter().find(|pid| measuring_thread(*pid).is_some());
        probe.is_some()
    });
    (running, probe.expect("it was just found"))
}

/// The thread of process `pid` that wakes on CPU 0.
fn measuring_thread(pid: u32) -> Option<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let tid = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().parse::<u32>().ok();
    threads.flatten().filter_map(tid).find(|tid| *tid != pid)
}

/// The run ends by itself, is invalid, and states this reason.
fn is_invalid(bench: &Bench, running: Running, reason: &str) {
    let printed = running.printed().exits(5);
    assert!(
        printed.out.contains("INVALID") && printed.err.contains(reason),
        "{}{}",
        printed.out,
        printed.err
    );
    let run = bench.json("a.run.json");
    let kept = run["validity"]["spoilt_by"].to_string();
    assert!(kept.contains(reason) && kept.contains("noticed at"), "{kept}");
}

#[test]
fn a_probe_that_was_stopped_for_a_moment_makes_the_run_invalid() {
    let bench = Bench::new();
    let (running, probe) = measuring(&bench);
    send("-STOP", probe);
    // SIGCONT would cancel a stop that is still pending.
    wait_until("the stop", || {
        let stat = std::fs::read_to_string(format!("/proc/{probe}/stat")).unwrap();
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
    });
    send("-CONT", probe);
    is_invalid(&bench, running, "was stopped by a signal");
}

#[test]
fn a_thread_that_may_run_elsewhere_makes_the_run_invalid() {
    let bench = Bench::new();
    let (running, probe) = measuring(&bench);
    let thread = measuring_thread(probe).expect("it measures");
    let moved =
        std::process::Command::new("taskset").args(["-pc", "0-1", &thread.to_string()]).output().unwrap();
    if !moved.status.success() {
        println!("skipped: this machine has one CPU: {}", String::from_utf8_lossy(&moved.stderr));
        return;
    }
    is_invalid(&bench, running, "was allowed to run on CPUs 0-1");
}
