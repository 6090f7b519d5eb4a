//! What happens to a measurement from outside makes the run invalid, with the reason and its time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tardy_sys::shared_map::SharedMap;

use crate::bench::{Bench, Running, send, wait_until};
use crate::killed::{children, map_of};
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

/// Runs a command of util-linux. Returns whether it succeeded.
fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let output = std::process::Command::new(program).args(arguments).output().unwrap();
    output.status.success()
}

/// Waits until the thread on CPU 0 has counted in the map.
fn wait_until_counting(bench: &Bench) {
    let map = SharedMap::open(Path::new(&map_of(&bench.path("a.run.json")))).unwrap();
    let attempted = &map.block(0).cells()[0];
    wait_until("the first cycle", || attempted.get() > 0);
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
    // Before it counts, the thread may not have pinned itself yet, and would undo the change.
    wait_until_counting(&bench);
    let thread = measuring_thread(probe).expect("it measures");
    let moved =
        std::process::Command::new("taskset").args(["-pc", "0-1", &thread.to_string()]).output().unwrap();
    if !moved.status.success() {
        println!("skipped: this machine has one CPU: {}", String::from_utf8_lossy(&moved.stderr));
        return;
    }
    is_invalid(&bench, running, "was allowed to run on CPUs 0-1");
}

#[test]
fn a_probe_that_was_stopped_together_with_its_supervisor_makes_the_run_invalid() {
    let bench = Bench::new();
    let (mut running, probe) = measuring(&bench);
    wait_until_counting(&bench);
    let cgroup = Freezer::of(&[running.id(), probe]);
    let Some(cgroup) = cgroup else {
        println!("skipped: no cgroup can be created and frozen here");
        return;
    };
    // A freeze that begins while the supervisor does not wait, which is rare, is not distinguished from a pause of the machine.
    let mut rounds = 0;
    while running.try_wait().unwrap().is_none() {
        assert!(rounds < 10, "no freeze was noticed");
        rounds += 1;
        cgroup.freeze(true);
        let frozen = Instant::now();
        wait_until("half a second", || frozen.elapsed() >= Duration::from_millis(500));
        cgroup.freeze(false);
        wait_until("the end or the next reading", || {
            running.try_wait().unwrap().is_some() || frozen.elapsed() >= Duration::from_secs(4)
        });
    }
    is_invalid(&bench, running, "supervisor and probe were both stopped for");
}

#[test]
fn a_pinned_thread_that_was_moved_away_and_back_makes_the_run_invalid() {
    let bench = Bench::new();
    let (running, probe) = measuring(&bench);
    let thread = measuring_thread(probe).expect("it measures").to_string();
    wait_until_counting(&bench);
    if !succeeds("taskset", &["-pc", "1", &thread]) || !succeeds("taskset", &["-pc", "0", &thread]) {
        println!("skipped: this machine has one CPU");
        return;
    }
    if std::fs::read_to_string(format!("/proc/{thread}/sched")).is_err() {
        println!("skipped: the kernel does not count migrations (CONFIG_SCHED_DEBUG)");
        return;
    }
    // Seen in the middle of the move by chance, the thread is reported as allowed to run on CPU 1.
    is_invalid(&bench, running, "the thread ");
    let kept = bench.json("a.run.json")["validity"]["spoilt_by"].to_string();
    assert!(kept.contains("ran on another CPU (") || kept.contains("allowed to run on CPUs 1"), "{kept}");
}

#[test]
fn a_thread_whose_policy_was_changed_makes_the_run_invalid() {
    let bench = Bench::new();
    let (running, probe) = measuring(&bench);
    let thread = measuring_thread(probe).expect("it measures").to_string();
    // SCHED_BATCH is allowed to every user, and differs from whatever the thread was granted.
    assert!(succeeds("chrt", &["-b", "-p", "0", &thread]), "chrt (util-linux)");
    is_invalid(&bench, running, "to SCHED_BATCH");
}

/// A cgroup that can be frozen (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/freezer-subsystem.rst).
struct Freezer {
    directory: PathBuf,
    control: &'static str,
    values: [&'static str; 2],
    processes: Vec<u32>,
}

impl Freezer {
    /// Moves `processes` into a new cgroup; `None` if this user may not, or if there is no freezer.
    fn of(processes: &[u32]) -> Option<Self> {
        let mounts = [
            ("/sys/fs/cgroup", "cgroup.freeze", ["0", "1"]),
            ("/sys/fs/cgroup/unified", "cgroup.freeze", ["0", "1"]),
            ("/sys/fs/cgroup/freezer", "freezer.state", ["THAWED", "FROZEN"]),
        ];
        let create = |(mount, control, values): (&str, &'static str, [&'static str; 2])| {
            let directory = Path::new(mount).join(format!("tardy-test-{}", processes[0]));
            fs::create_dir(&directory).ok()?;
            let freezer = Self { directory, control, values, processes: processes.to_vec() };
            let has_control = freezer.directory.join(control).exists();
            let moves =
                |pid: &u32| fs::write(freezer.directory.join("cgroup.procs"), pid.to_string()).is_ok();
            (has_control && processes.iter().all(moves)).then_some(freezer)
        };
        mounts.into_iter().find_map(create)
    }

    fn freeze(&self, is_frozen: bool) {
        fs::write(self.directory.join(self.control), self.values[usize::from(is_frozen)]).unwrap();
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = fs::write(self.directory.join(self.control), self.values[0]);
        let parent = self.directory.parent().expect("it is below a mount").join("cgroup.procs");
        self.processes.iter().for_each(|pid| drop(fs::write(&parent, pid.to_string())));
        // Only an empty cgroup can be removed. Its last process may still be exiting.
        let until = Instant::now() + Duration::from_secs(10);
        while self.directory.exists() && fs::remove_dir(&self.directory).is_err() && Instant::now() < until {
            std::thread::yield_now();
        }
    }
}
