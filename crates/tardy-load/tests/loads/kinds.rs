//! Tests of each kind of load while it runs.

use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::time::Instant;

use tardy_load::{LoadError, Loads};
use tardy_record::load::LoadResult;
use tardy_sys::child;

use crate::processes::{Process, eventually, is_root, names, own_descendants};
use crate::{Test, context, specs};

pub(crate) const TESTS: &[Test] = &[
    (
        "every_part_makes_progress_and_stopping_leaves_nothing",
        every_part_makes_progress_and_stopping_leaves_nothing,
    ),
    ("load_processes_do_not_inherit_scheduling", load_processes_do_not_inherit_scheduling),
    (
        "a_port_in_use_is_an_error_before_anything_is_measured",
        a_port_in_use_is_an_error_before_anything_is_measured,
    ),
    ("a_failed_command_reports_its_last_output", a_failed_command_reports_its_last_output),
    ("a_command_lives_as_long_as_anything_it_started", a_command_lives_as_long_as_anything_it_started),
    ("a_command_may_write_without_end", a_command_may_write_without_end),
    ("none_starts_no_process", none_starts_no_process),
    ("a_missing_executable_is_named", a_missing_executable_is_named),
];

fn start(texts: &[&str]) -> Loads {
    Loads::start(&specs(texts), &context()).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads the loads until `is_so` is true of their results. Times are in ns since `begin`.
fn read_until(loads: &mut Loads, begin: Instant, what: &str, is_so: impl Fn(&[LoadResult]) -> bool) {
    eventually(what, || {
        loads.read(begin.elapsed().as_nanos() as u64);
        is_so(&loads.snapshot())
    });
}

fn every_part_makes_progress_and_stopping_leaves_nothing() {
    let begin = Instant::now();
    let mut loads = start(&["doload", "cmd:sleep 1000"]);
    let processes = own_descendants();
    for name in ["tardy-loads", "tardy-scheduler", "tardy-network", "tardy-copy", "tardy-listing", "sleep"] {
        assert!(names(&processes).contains(&name), "{name} in {:?}", names(&processes));
    }
    assert!(processes.iter().filter(|process| process.name == "tardy-scheduler").count() >= 40);
    loads.begin_phase(0, begin.elapsed().as_nanos() as u64);
    let before: Vec<u64> = loads.snapshot()[0].parts.iter().map(|part| part.done[0]).collect();
    // Two groups of the scheduler and two bursts of the network.
    read_until(&mut loads, begin, "every part of doload has made progress twice over", |results| {
        let progress =
            results[0].parts.iter().zip(&before).all(|(part, before)| part.done.last() > Some(before));
        progress && begin.elapsed().as_secs() > 8
    });
    loads.end_phase(begin.elapsed().as_nanos() as u64);
    let results = loads.stop();
    assert_eq!(own_descendants(), [], "left after the end");
    for part in results.iter().flat_map(|result| &result.parts) {
        println!(
            "  {}: {} {} in {:.1} s",
            part.name,
            part.done.last().unwrap(),
            part.unit,
            begin.elapsed().as_secs_f64()
        );
        assert!(part.deaths.is_empty() && part.alive.iter().all(|alive| *alive), "{part:?}");
    }
    let units: Vec<&str> = results[0].parts.iter().map(|part| part.unit.as_str()).collect();
    assert_eq!(units, ["messages", "bytes", "bytes", "entries"]);
    assert_eq!(results[0].remarks, ["no network-card interrupts: the data went over loopback"]);
    assert_eq!((results[0].first_phase, results[0].last_phase), (0, 0));
    assert_eq!(results[1].spec, "cmd:sleep 1000");
}

/// The value of the line `name` of /proc/PID/status.
fn field(process: &Process, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid)).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_once(':').map_or(String::new(), |(_, value)| value.trim().to_owned())
}

fn load_processes_do_not_inherit_scheduling() {
    let all_cpus = tardy_sys::scheduling::affinity().unwrap();
    let loads = std::thread::spawn(move || {
        tardy_sys::scheduling::set_affinity(&all_cpus[..1]).unwrap();
        let fifo = tardy_sys::scheduling::set(tardy_sys::scheduling::Scheduling::Fifo(1));
        if let Err(error) = fifo {
            println!("  not tried under SCHED_FIFO: {error}");
        }
        start(&["scheduler", "copy", "cmd:sleep 1000"])
        // The thread that started the loads ends here, which the kernel treats as the death of their parent.
    });
    let mut loads = loads.join().unwrap();
    let all_cpus = tardy_sys::scheduling::affinity().unwrap().len();
    let processes = own_descendants();
    for process in &processes {
        let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", process.pid)) else { continue };
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        assert_eq!((fields[16], fields[38]), ("0", "0"), "nice and policy of {process:?}");
        assert_eq!(cpus_in(&field(process, "Cpus_allowed_list")), all_cpus, "CPUs of {process:?}");
        assert_eq!(field(process, "VmLck"), "0 kB", "{process:?}");
    }
    loads.read(1);
    assert!(loads.snapshot().iter().flat_map(|load| &load.parts).all(|part| part.deaths.is_empty()));
    loads.stop();
}

/// How many CPUs are in a list such as `0-3,8`.
fn cpus_in(list: &str) -> usize {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        last.parse::<usize>().unwrap() - first.parse::<usize>().unwrap() + 1
    };
    list.split(',').map(count).sum()
}

fn a_port_in_use_is_an_error_before_anything_is_measured() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut context = context();
    context.port = taken.local_addr().unwrap().port();
    let error = Loads::start(&specs(&["doload"]), &context).unwrap_err();
    let told = error.to_string();
    assert!(told.starts_with("load doload (network) did not start: TCP port"), "{told}");
    assert!(told.contains(&context.port.to_string()), "{told}");
    assert_eq!(own_descendants(), [], "left after the error");
}

fn a_failed_command_reports_its_last_output() {
    for (command, how) in [
        ("cmd:no-such-command-of-tardys", "exit status 127; its last output: "),
        ("cmd:echo one; echo two >&2; exit 3", "exit status 3; its last output: one / two"),
        ("cmd:true", "exit status 0"),
        ("cmd:kill -SEGV $$", "killed by signal 11 (SIGSEGV)"),
        ("cmd:sleep 1000 & exit 4", "exit status 4"),
    ] {
        let begin = Instant::now();
        let mut loads = start(&[command, "copy"]);
        read_until(&mut loads, begin, command, |results| !results[0].parts[0].deaths.is_empty());
        let results = loads.stop();
        let part = &results[0].parts[0];
        assert!(part.deaths[0].how.starts_with(how), "{command}: {part:?}");
        assert_eq!(part.alive.last(), Some(&false));
        assert!(results[1].parts[0].deaths.is_empty(), "the other load is still alive");
        assert!(part.deaths[0].at_ns < 5_000_000_000, "{command}: {part:?}");
        assert_eq!(own_descendants(), []);
    }
}

fn a_command_lives_as_long_as_anything_it_started() {
    let begin = Instant::now();
    let mut loads = start(&["cmd:setsid sh -c 'sleep 1000 & exit' & disown 2>/dev/null; exit 0"]);
    eventually("only the daemon is left", || {
        let names: Vec<String> = own_descendants().into_iter().map(|process| process.name).collect();
        names.iter().any(|name| name == "sleep") && !names.iter().any(|name| name == "sh" || name == "setsid")
    });
    loads.read(begin.elapsed().as_nanos() as u64);
    assert!(loads.snapshot()[0].parts[0].deaths.is_empty());
    let sleep = own_descendants().into_iter().find(|process| process.name == "sleep").unwrap();
    child::send(sleep.pid, child::signal::KILL).unwrap();
    read_until(&mut loads, begin, "the death of the last process", |results| {
        !results[0].parts[0].deaths.is_empty()
    });
    loads.stop();
    assert_eq!(own_descendants(), []);
}

fn a_command_may_write_without_end() {
    let begin = Instant::now();
    let mut loads = start(&["cmd:yes tardy & sleep 0.5; kill $!; exit 9"]);
    read_until(&mut loads, begin, "the command ends", |results| !results[0].parts[0].deaths.is_empty());
    let how = loads.stop()[0].parts[0].deaths[0].how.clone();
    assert!(how.starts_with("exit status 9") && how.len() < 1000, "{how}");
}

fn none_starts_no_process() {
    let mut loads = start(&["none"]);
    loads.begin_phase(0, 0);
    assert_eq!(own_descendants(), []);
    assert_eq!(loads.stop(), []);
    let error = Loads::start(&specs(&["copy", "none"]), &context()).unwrap_err();
    assert!(matches!(error, LoadError::NoneAmongOthers { .. }), "{error}");
}

fn a_missing_executable_is_named() {
    let mut context = context();
    context.exe = "/nonexistent/tardy".into();
    let told = Loads::start(&specs(&["copy"]), &context).unwrap_err().to_string();
    assert!(told.contains("/nonexistent/tardy") && told.contains("No such file"), "{told}");
}

/// Whether the programs are installed and this user is root.
pub(crate) fn can_use(programs: &[&str]) -> bool {
    let is_there = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    let there = programs.iter().all(is_there);
    if !is_root() || !there {
        println!("  skipped: needs root and {}", programs.join(", "));
        assert!(std::env::var_os("CI").is_none() || !is_root(), "CI must have {programs:?}");
    }
    is_root() && there
}
