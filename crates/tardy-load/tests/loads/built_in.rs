//! Tests of every load that needs no other machine: it counts its work, and the end of its worker or of a task is a
//! death, which makes the run invalid.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Instant;

use tardy_load::{LoadError, Loads};
use tardy_record::load_spec::{CATALOGUE, LoadSpec};
use tardy_record::run::Phase;
use tardy_record::validity::judge_loads;
use tardy_sys::child::{send, signal};

use crate::processes::{Process, assert_all_end, descendants, eventually, own_descendants};
use crate::{Test, context, specs};

pub(crate) const TESTS: &[Test] = &[
    ("every_load_is_tried_here", every_load_is_tried_here),
    ("every_load_counts_and_dies_with_its_worker", every_load_counts_and_dies_with_its_worker),
    ("kill_9_of_tardy_ends_every_load", kill_9_of_tardy_ends_every_load),
    ("the_end_of_one_task_is_the_loads_death", the_end_of_one_task_is_the_loads_death),
    ("groups_and_sizes_are_as_requested", groups_and_sizes_are_as_requested),
    ("a_failing_tool_is_reported_before_the_measurement", a_failing_tool_is_reported_before_the_measurement),
    ("a_directory_that_cannot_be_used_is_named", a_directory_that_cannot_be_used_is_named),
    ("pings_from_outside_are_counted", pings_from_outside_are_counted),
    ("iperf3_is_counted", iperf3_is_counted),
];

/// The text with which each load is tested, and its parts.
pub(crate) const TRIED: [(&str, &[&str]); 16] = [
    ("scheduler:2,3,64", &["scheduler"]),
    ("network", &["network"]),
    ("copy", &["copy"]),
    ("listing", &["listing"]),
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
    ("hackbench", &["hackbench"]),
    ("stress-ng:--cpu 1", &["stress-ng"]),
];

fn every_load_is_tried_here() {
    // ping-flood-in and iperf3 need another end and have their own tests. The others are tested elsewhere.
    let elsewhere = ["none", "doload", "ping-flood-in", "iperf3", "sink", "cmd"];
    for entry in CATALOGUE {
        let word = entry.name();
        let is_tried = TRIED.iter().any(|(text, _)| text.split(':').next() == Some(word));
        assert!(is_tried != elsewhere.contains(&word), "{word}");
    }
}

/// Whether this machine has what the load needs. Prints what is missing.
pub(crate) fn can_run(text: &str) -> bool {
    let error = match Loads::start(&specs(&[text]), &context()) {
        Ok(_) => return true,
        Err(error) => error.to_string(),
    };
    let is_excuse = error.contains("is not installed") || error.contains("ping_group_range");
    assert!(is_excuse, "{error}");
    println!("  skipped: {error}");
    assert!(std::env::var_os("CI").is_none(), "CI must have it");
    false
}

fn every_load_counts_and_dies_with_its_worker() {
    for (text, parts) in TRIED {
        if !can_run(text) {
            continue;
        }
        for part in parts {
            dies_with_its_worker(text, parts, part);
        }
    }
}

fn dies_with_its_worker(text: &str, parts: &[&str], victim: &str) {
    let begin = Instant::now();
    let mut loads =
        Loads::start(&specs(&[text]), &context()).unwrap_or_else(|error| panic!("{text}: {error}"));
    loads.begin_phase(0, begin.elapsed().as_nanos() as u64);
    let before: Vec<u64> = loads.snapshot()[0].parts.iter().map(|part| part.done[0]).collect();
    eventually(text, || {
        loads.read(begin.elapsed().as_nanos() as u64);
        let result = &loads.snapshot()[0];
        result.parts.iter().zip(&before).all(|(part, before)| part.done.last() > Some(before))
    });
    let names: Vec<String> = loads.snapshot()[0].parts.iter().map(|part| part.name.clone()).collect();
    assert_eq!(names, parts, "{text}");
    send(worker(victim).pid, signal::KILL).unwrap();
    eventually("the death is noticed", || {
        loads.read(begin.elapsed().as_nanos() as u64);
        loads.snapshot()[0].parts.iter().any(|part| !part.deaths.is_empty())
    });
    loads.end_phase(begin.elapsed().as_nanos() as u64);
    let results = loads.stop();
    let validity = judge_loads(&results, &[Phase::default()]);
    assert!(!validity.valid, "{text}");
    let reason = format!("load {text} ({victim}) died");
    assert!(
        validity.spoilt_by.iter().any(|one| one.to_string().starts_with(&reason)),
        "{:?}",
        validity.spoilt_by
    );
    for part in &results[0].parts {
        assert_eq!(part.deaths.len(), usize::from(part.name == victim), "{text}: {part:?}");
        assert!(part.deaths.iter().all(|death| death.how.contains("SIGKILL")), "{text}: {part:?}");
        assert!(!part.unit.is_empty(), "{text}");
    }
    assert_eq!(own_descendants(), [], "{text}");
}

/// The child of the load parent that does this part.
fn worker(part: &str) -> Process {
    let name: String = format!("tardy-{part}").chars().take(15).collect();
    let parent = own_descendants().into_iter().find(|process| process.name == "tardy-loads").unwrap();
    let named: Vec<Process> =
        descendants(parent.pid).into_iter().filter(|process| process.name == name).collect();
    // Tasks have their worker's name and start after it.
    named.into_iter().min_by_key(Process::started).unwrap_or_else(|| panic!("{name} does not run"))
}

fn kill_9_of_tardy_ends_every_load() {
    let exe = std::env::current_exe().unwrap();
    let loads = TRIED.iter().map(|(text, _)| *text).filter(|text| can_run(text));
    let mut command = Command::new(exe);
    command.args(["alone", "0", "-"]).args(loads).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut tardy = command.spawn().unwrap();
    let mut first_rates = String::new();
    BufReader::new(tardy.stderr.take().unwrap()).read_line(&mut first_rates).unwrap();
    assert!(first_rates.contains("products/s"), "{first_rates}");
    let processes = descendants(tardy.id());
    assert!(processes.len() > 30, "{processes:?}");
    send(tardy.id(), signal::KILL).unwrap();
    tardy.wait().unwrap();
    assert_all_end(&processes);
}

fn the_end_of_one_task_is_the_loads_death() {
    for (text, part) in [("cpu", "cpu"), ("signals", "signals"), ("ipi", "affinity"), ("compile", "compile")]
    {
        if !can_run(text) {
            continue;
        }
        let begin = Instant::now();
        let mut loads = Loads::start(&specs(&[text]), &context()).unwrap();
        let task = descendants(worker(part).pid).into_iter().max_by_key(Process::started).unwrap();
        send(task.pid, signal::KILL).unwrap();
        let mut deaths = Vec::new();
        eventually(text, || {
            loads.read(begin.elapsed().as_nanos() as u64);
            deaths = loads.snapshot()[0].parts.iter().flat_map(|part| part.deaths.clone()).collect();
            !deaths.is_empty()
        });
        assert_eq!(deaths.len(), 1, "{text}: {deaths:?}");
        loads.stop();
        assert_eq!(own_descendants(), [], "{text}");
    }
}

fn groups_and_sizes_are_as_requested() {
    let loads = Loads::start(&specs(&["scheduler:3,4,1000"]), &context()).unwrap();
    let tasks = own_descendants().iter().filter(|process| process.name == "tardy-scheduler").count();
    assert_eq!(tasks, 1 + 3 * 2 * 4, "a worker, and each group's senders and receivers");
    loads.stop();
    let too_many = "scheduler:1000,1000".parse::<LoadSpec>().unwrap_err().to_string();
    assert!(too_many.contains("receivers"), "{too_many}");
}

fn a_failing_tool_is_reported_before_the_measurement() {
    for (text, why) in
        [("hackbench:--no-such-option", "its last output"), ("stress-ng:--no-such-option", "option")]
    {
        match Loads::start(&specs(&[text]), &context()) {
            Err(LoadError::DidNotStart { how, .. }) => assert!(how.contains(why), "{text}: {how}"),
            Err(LoadError::NoProgram { program, package, .. }) => {
                println!("  skipped: {program} is not installed; it is in Debian's package {package}");
            }
            other => panic!("{text}: {other:?}"),
        }
        assert_eq!(own_descendants(), [], "{text}");
    }
}

fn a_directory_that_cannot_be_used_is_named() {
    for text in ["io:/nonexistent/tardy", "io:/proc", "compile:/nonexistent/tardy"] {
        match Loads::start(&specs(&[text]), &context()) {
            Err(LoadError::NoProgram { program, .. }) => println!("  skipped: {program} is not installed"),
            Err(error) => {
                let told = error.to_string();
                let directory = text.split_once(':').unwrap().1;
                assert!(told.contains(directory) && told.contains("did not start"), "{told}");
            }
            Ok(_) => panic!("{text} runs"),
        }
    }
}

fn pings_from_outside_are_counted() {
    if !can_run("ping-flood") {
        return;
    }
    // Over loopback, ping-flood-in counts the requests of ping-flood.
    let begin = Instant::now();
    let mut loads = Loads::start(&specs(&["ping-flood", "ping-flood-in"]), &context()).unwrap();
    eventually("both count", || {
        loads.read(begin.elapsed().as_nanos() as u64);
        loads.snapshot().iter().all(|load| load.parts[0].done.last() > Some(&100))
    });
    loads.stop();
}

fn iperf3_is_counted() {
    if Command::new("iperf3").arg("--version").output().is_err() {
        println!("  skipped: iperf3 is not installed");
        return;
    }
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let _server =
        Loads::start(&specs(&[format!("cmd:exec iperf3 -s -p {free} >/dev/null")]), &context()).unwrap();
    let client = format!("iperf3:-c 127.0.0.1 -p {free}");
    let mut running = None;
    eventually("iperf3 talks to its server", || {
        running = Loads::start(&specs(&[&client]), &context()).ok();
        running.is_some()
    });
    let mut loads = running.unwrap();
    let begin = Instant::now();
    eventually("another second is counted", || {
        loads.read(begin.elapsed().as_nanos() as u64);
        let done = loads.snapshot()[0].parts[0].done.clone();
        done.last() > done.first()
    });
    assert_eq!(loads.stop()[0].parts[0].unit, "bytes");
}
