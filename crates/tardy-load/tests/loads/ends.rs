//! No load process outlives tardy, whichever process is killed and by whatever signal.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

use tardy_load::Loads;
use tardy_sys::child::{send, signal};

use crate::processes::{Process, assert_all_end, descendants, eventually, is_alive, names, own_descendants};
use crate::{Test, context, specs};

pub(crate) const TESTS: &[Test] = &[
    ("kill_9_of_tardy_ends_all_loads", kill_9_of_tardy_ends_all_loads),
    ("a_kill_of_the_process_group_ends_all_loads", a_kill_of_the_process_group_ends_all_loads),
    ("ctrl_c_ends_a_load_by_itself_properly", ctrl_c_ends_a_load_by_itself_properly),
    (
        "kill_9_of_the_parent_is_noticed_and_ends_all_loads",
        kill_9_of_the_parent_is_noticed_and_ends_all_loads,
    ),
    ("kill_9_of_one_load_process_is_a_death", kill_9_of_one_load_process_is_a_death),
    ("dropping_loads_ends_them", dropping_loads_ends_them),
];

/// Commands whose processes try to outlive tardy.
const DAEMONS: [&str; 3] = [
    "cmd:sleep 1001",
    "cmd:setsid sleep 1002 & disown 2>/dev/null; exit 0",
    "cmd:(trap '' TERM HUP INT; setsid sh -c 'sleep 1003 & exec >/dev/null; exit 0' &) ; env -i sleep 1004",
];

/// `tardy load` in a separate process, with doload and all the daemons running.
struct Victim {
    process: Child,
    progress: BufReader<ChildStderr>,
    loads: Vec<Process>,
}

impl Victim {
    /// `before` is put in front of the command line.
    fn start(before: &[&str]) -> Self {
        let exe = std::env::current_exe().unwrap();
        let mut line: Vec<String> = before.iter().map(|&word| word.to_owned()).collect();
        line.extend([
            exe.display().to_string(),
            "alone".to_owned(),
            "0".to_owned(),
            "-".to_owned(),
            "doload".to_owned(),
        ]);
        line.extend(DAEMONS.map(str::to_owned));
        let mut command = Command::new(&line[0]);
        let mut process =
            command.args(&line[1..]).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut progress = BufReader::new(process.stderr.take().unwrap());
        let mut first_rates = String::new();
        progress.read_line(&mut first_rates).unwrap();
        assert!(first_rates.contains("messages/s"), "{first_rates}");
        let mut loads = Vec::new();
        eventually("all daemons have got away", || {
            loads = descendants(process.id());
            loads.iter().filter(|load| load.name == "sleep").count() == 4
                && loads.iter().all(|load| load.name != "setsid")
                && loads.iter().filter(|load| load.name == "tardy-scheduler").count() == 41
        });
        Self { process, progress, loads }
    }
}

fn kill_9_of_tardy_ends_all_loads() {
    for _ in 0..3 {
        let mut victim = Victim::start(&[]);
        send(victim.process.id(), signal::KILL).unwrap();
        victim.process.wait().unwrap();
        assert_all_end(&victim.loads);
        assert_no_sleep_is_left();
    }
}

/// No other process sleeps that long. Finds processes that started after the list was made, too.
fn assert_no_sleep_is_left() {
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_ours = (1001..=1004).any(|seconds| command == format!("sleep\0{seconds}\0").into_bytes());
        assert!(!is_ours, "{} is still running", entry.path().display());
    }
}

fn a_kill_of_the_process_group_ends_all_loads() {
    // setsid makes it the leader of a process group, whose number is its own.
    let mut victim = Victim::start(&["setsid"]);
    let group = format!("-{}", victim.process.id());
    assert!(Command::new("kill").args(["-KILL", "--", &group]).status().unwrap().success());
    victim.process.wait().unwrap();
    assert_all_end(&victim.loads);
    assert_no_sleep_is_left();
}

fn ctrl_c_ends_a_load_by_itself_properly() {
    let mut victim = Victim::start(&[]);
    send(victim.process.id(), signal::TERMINATE).unwrap();
    assert!(victim.process.wait().unwrap().success());
    let told: Vec<String> = victim.progress.lines().map(Result::unwrap).collect();
    assert!(told.iter().any(|line| line.starts_with("doload for ")), "{told:?}");
    assert!(told.iter().any(|line| line.contains("no network-card interrupts")), "{told:?}");
    assert!(victim.loads.iter().all(|load| !is_alive(load)), "it waits for their end");
}

fn kill_9_of_the_parent_is_noticed_and_ends_all_loads() {
    let all: Vec<&str> = ["doload"].into_iter().chain(DAEMONS).collect();
    let mut loads = Loads::start(&specs(&all), &context()).unwrap();
    let processes = own_descendants();
    let parent = processes.iter().find(|process| process.name == "tardy-loads").unwrap();
    send(parent.pid, signal::KILL).unwrap();
    assert_all_end(&processes);
    assert_no_sleep_is_left();
    loads.read(1);
    for part in loads.stop().iter().flat_map(|load| &load.parts) {
        assert_eq!(part.deaths.len(), 1, "{part:?}");
        assert!(part.deaths[0].how.contains("the parent of the load processes ended: signal: 9"), "{part:?}");
    }
}

fn kill_9_of_one_load_process_is_a_death() {
    for (name, part, how) in [
        ("tardy-copy", "copy", "killed by signal 9 (SIGKILL)"),
        ("tardy-scheduler", "scheduler", ""),
        ("tardy-command", "command", "killed by signal 9 (SIGKILL)"),
    ] {
        let mut loads = Loads::start(&specs(&["doload", DAEMONS[2]]), &context()).unwrap();
        eventually("the daemons have got away", || {
            names(&own_descendants()).iter().filter(|name| **name == "sleep").count() == 2
        });
        let processes = own_descendants();
        let victim = processes.iter().rfind(|process| process.name == name).unwrap();
        send(victim.pid, signal::KILL).unwrap();
        let mut deaths = Vec::new();
        eventually("the death is noticed", || {
            loads.read(1);
            let results = loads.snapshot();
            let parts = results.into_iter().flat_map(|load| load.parts);
            deaths = parts
                .flat_map(|part| part.deaths.into_iter().map(move |death| (part.name.clone(), death)))
                .collect();
            !deaths.is_empty()
        });
        assert_eq!(deaths.len(), 1, "{deaths:?}");
        assert_eq!(deaths[0].0, part);
        assert!(deaths[0].1.how.contains(how) && deaths[0].1.how.contains("signal 9"), "{deaths:?}");
        if name == "tardy-command" {
            eventually("its daemons are ended", || !names(&own_descendants()).contains(&"sleep"));
        }
        loads.stop();
        assert_eq!(own_descendants(), []);
    }
}

fn dropping_loads_ends_them() {
    let loads = Loads::start(&specs(&["copy", DAEMONS[1]]), &context()).unwrap();
    let processes = own_descendants();
    drop(loads);
    assert!(processes.iter().all(|process| !is_alive(process)));
    assert_eq!(own_descendants(), []);
}
