//! After kill -9 at any time the run opens, reports that it was cut short, and has everything that was counted.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use tardy_sys::shared_map::{self, SharedMap};

use crate::bench::{Bench, Running, wait_until};

#[derive(Clone, Copy, Debug)]
enum Victim {
    Supervisor,
    Both,
}

#[test]
fn twenty_random_kills_lose_nothing() {
    // The times of the kills come from a fixed seed. The progress of the run at these times varies.
    let mut state = 0x5eed_u64;
    let mut moment_ms = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 1500
    };
    let moments: Vec<(u64, Victim)> =
        (0..20).map(|i| (moment_ms(), if i % 2 == 0 { Victim::Supervisor } else { Victim::Both })).collect();
    for batch in moments.chunks(10) {
        thread::scope(|scope| {
            for (moment_ms, victim) in batch {
                scope.spawn(|| kill_and_check(Duration::from_millis(*moment_ms), *victim));
            }
        });
    }
}

/// Whether any process has mapped the file at `path`.
fn is_mapped(path: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let maps = processes.filter_map(|process| fs::read_to_string(process.path().join("maps")).ok());
    maps.into_iter().any(|maps| maps.contains(path))
}

fn kill_and_check(moment: Duration, victim: Victim) {
    let bench = Bench::new();
    let mut supervisor = start(&bench);
    let path = bench.path("a.run.json");
    wait_until("the run file", || path.exists());
    let map = map_of(&path);
    wait_until("the map", || Path::new(&map).exists());
    let began = Instant::now();
    wait_until("the moment", || began.elapsed() >= moment);
    match victim {
        Victim::Both => kill_all(supervisor.id()),
        Victim::Supervisor => kill(supervisor.id()),
    }
    supervisor.wait().unwrap();
    // Other threads of the killed process may still be exiting and hold the map.
    wait_until("the map's release", || !shared_map::is_in_use(Path::new(&map)).unwrap());
    // The probe is killed by the kernel once its parent has ended, and may count a last cycle before.
    wait_until("the probe's end", || !is_mapped(&map));

    let counted = counted_in(&map);
    let before = fs::read(&path).unwrap();
    let shown = bench.run(&["show", "a.run.json"]).exits(0);
    assert!(shown.out.contains("Cut short"), "{moment:?} {victim:?}: {}", shown.out);
    assert!(
        shown.err.contains("The file is unchanged; 'tardy recover a.run.json' seals it"),
        "{}",
        shown.err
    );
    assert!(fs::read(&path).unwrap() == before && Path::new(&map).exists(), "showing a run writes nothing");
    let sealed = bench.run(&["recover", "a.run.json"]).exits(0);
    assert!(sealed.err.contains("and the file is now sealed"), "{}", sealed.err);
    let run = bench.json("a.run.json");
    assert_eq!(run["progress"]["state"], "cut_short");
    assert_eq!(run["progress"]["cycles"].as_u64().unwrap(), counted, "{moment:?} {victim:?}");
    for series in run["series"].as_array().unwrap() {
        let total = |bins: &serde_json::Value| -> u64 {
            bins.as_array().unwrap().iter().map(|bin| bin[2].as_u64().unwrap()).sum()
        };
        let slices = series["slices"].as_array().unwrap().iter();
        let in_slices: u64 = slices.map(|slice| total(&slice["histogram"])).sum();
        assert_eq!(in_slices, total(&series["corrected"]), "the slices cover the whole run");
    }
    assert!(!Path::new(&map).exists(), "the map is removed once the run is sealed");
    let again = bench.run(&["show", "a.run.json"]).exits(0);
    assert_eq!(again.out, shown.out, "a sealed run does not change");
    let second = bench.run(&["recover", "a.run.json"]).exits(0);
    assert!(second.err.contains("this run is sealed; nothing was written"), "{}", second.err);
}

/// A power cut takes the map in memory away. What is on the disk by then is at most 5 s old.
#[test]
fn without_its_map_a_killed_run_has_the_counters_on_the_disk() {
    let bench = Bench::new();
    let mut supervisor = start(&bench);
    let path = bench.path("a.run.json");
    let counters = bench.path(".a.run.json.0.counters");
    wait_until("counters on the disk", || counters.exists());
    let map = map_of(&path);
    kill_all(supervisor.id());
    supervisor.wait().unwrap();
    wait_until("the map's release", || !shared_map::is_in_use(Path::new(&map)).unwrap());
    let counted = counted_in(&map);
    fs::remove_file(&map).unwrap();
    let checkpoint = bench.json("a.run.json")["progress"]["cycles"].as_u64().unwrap();
    let sealed = bench.run(&["recover", "a.run.json", "--json"]).exits(0);
    let recovered: serde_json::Value = serde_json::from_str(&sealed.out).unwrap();
    assert_eq!(recovered[0]["outcome"], "sealed");
    assert!(sealed.out.contains("at most the last 5 s are lost"), "{}", sealed.out);
    let run = bench.json("a.run.json");
    let kept = run["progress"]["cycles"].as_u64().unwrap();
    let cpus = run["series"].as_array().unwrap().len() as u64;
    assert!(kept > checkpoint && kept <= counted, "{checkpoint} {kept} {counted}");
    // The interval is 1 ms; a second is allowed for the supervisor of a busy machine.
    assert!(counted - kept <= 6000 * cpus, "{kept} {counted}");
    assert!(!counters.exists(), "it is removed once the run is sealed");
}

fn start(bench: &Bench) -> Running {
    let arguments =
        ["run", "--quiet", "--duration", "1h", "--warmup", "0s", "--interval", "1ms", "-o", "a.run.json"];
    bench.start(&arguments)
}

pub(crate) fn map_of(path: &Path) -> String {
    format!("/dev/shm/tardy-{}-0.map", crate::bench::json(path)["origin"]["id"].as_str().unwrap())
}

/// The cycles counted in the map: the sum of each block's first cell, Attempted (see cells.rs).
pub(crate) fn counted_in(map: &str) -> u64 {
    let map = SharedMap::open(Path::new(map)).unwrap();
    (0..map.block_count()).map(|block| map.block(block).cells()[0].get()).sum()
}

/// The lowest number of cycles that any thread has counted in the map.
pub(crate) fn least_counted_in(map: &str) -> u64 {
    let map = SharedMap::open(Path::new(map)).unwrap();
    (0..map.block_count()).map(|block| map.block(block).cells()[0].get()).min().unwrap_or(0)
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Whether the process has exited. A zombie has.
fn is_gone(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    }
}

/// Kills a supervisor and its probes at once. The supervisor of a busy machine could otherwise notice the death of its
/// probes before it is killed.
pub(crate) fn kill_all(supervisor: u32) {
    signal(supervisor, "-STOP");
    children(supervisor).iter().for_each(|pid| kill(*pid));
    kill(supervisor);
}

pub(crate) fn kill(pid: u32) {
    signal(pid, "-9");
}

fn signal(pid: u32, signal: &str) {
    let _ =
        std::process::Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status();
}

#[test]
fn a_killed_probe_ends_the_run_and_invalidates_it() {
    let bench = Bench::new();
    let mut supervisor = start(&bench);
    let path = bench.path("a.run.json");
    wait_until("the run file", || path.exists());
    let map = map_of(&path);
    wait_until("readings", || SharedMap::open(Path::new(&map)).is_ok() && counted_in(&map) > 10);
    children(supervisor.id()).iter().for_each(|pid| kill(*pid));
    assert_eq!(supervisor.wait().unwrap().code(), Some(5));
    let shown = bench.run(&["show", "a.run.json"]).exits(5);
    assert!(shown.out.contains("killed by signal 9"), "{}", shown.out);
    assert_eq!(bench.json("a.run.json")["progress"]["state"], "interrupted");
}

#[test]
fn no_load_outlives_a_killed_run() {
    let _mine = crate::doload_is_mine();
    let bench = Bench::new();
    let mark = format!("tardy-test-{}", std::process::id());
    let load = format!("cmd:setsid sh -c 'exec sleep 1000' {mark} & sleep 1000");
    let arguments =
        ["run", "--quiet", "--duration", "1h", "--load", &load, "--load", "doload", "-o", "a.run.json"];
    let mut supervisor = bench.start(&arguments);
    let path = bench.path("a.run.json");
    wait_until("the run file", || path.exists());
    let map = map_of(&path);
    wait_until("the measurement", || Path::new(&map).exists());
    let all = descendants(supervisor.id());
    assert!(all.len() > 40, "doload alone has 40 tasks; {} were seen", all.len());
    kill(supervisor.id());
    supervisor.wait().unwrap();
    wait_until("the end of every descendant", || all.iter().all(|pid| is_gone(*pid)));
    let _ = fs::remove_file(map);
}

fn descendants(pid: u32) -> Vec<u32> {
    let mut all = children(pid);
    for child in all.clone() {
        all.extend(descendants(child));
    }
    all
}
