//! `tardy attach` and `tardy exec` on programs of `tests/programs`: what they say of each way of waiting and of each fault.
//!
//! The machine that tests run on has other work, so a test demands that a fault is named, and not that nothing else is.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::bench::{Bench, wait_until};
use crate::levels::can_trace;
use crate::probe_program::{as_a_user, copy_of_tardy, is_root};

pub(crate) const CONTROL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/control.c");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/control.py");
/// Period of the programs.
const PERIOD_US: &str = "2000";

/// Builds the program in the directory of `bench`. `false`, with the reason on standard error, if this machine cannot trace or
/// has no C compiler.
pub(crate) fn can_watch(bench: &Bench) -> bool {
    if !can_trace() {
        return false;
    }
    let control = bench.path("control");
    let built = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(control).arg(CONTROL).status();
    match built {
        Ok(status) => assert!(status.success(), "{CONTROL} does not compile"),
        Err(error) => eprintln!("skipped: cc: {error}"),
    }
    bench.path("control").exists()
}

/// Runs the program under `tardy exec`, and returns the run's numbers and the program's own log.
fn watched(bench: &Bench, wait: &str, fault: &str, cycles: &str, priority: &str) -> (Value, Vec<Entry>) {
    let command = ["./control", wait, fault, PERIOD_US, cycles, priority, "log"];
    let arguments = [
        &["exec", "--quiet", "--json", "-o", "a.run.json", "--force", "--warmup", "500ms", "--"],
        &command[..],
    ]
    .concat();
    let printed = bench.run(&arguments).exits(0);
    (serde_json::from_str(&printed.out).unwrap(), log(&bench.path("log")))
}

/// A line of a program's log: when a cycle was due, how late it was, both in ns, and whether the fault was in it.
struct Entry {
    due_ns: i64,
    late_ns: i64,
    faulty: bool,
}

fn log(path: &Path) -> Vec<Entry> {
    let text = std::fs::read_to_string(path).unwrap();
    let entry = |line: &str| {
        let numbers: Vec<i64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        Entry { due_ns: numbers[0], late_ns: numbers[1], faulty: numbers[2] == 1 }
    };
    text.lines().map(entry).collect()
}

/// The thread that the program's loop is.
fn main_thread<'n>(numbers: &'n Value, name: &str) -> &'n Value {
    let threads = numbers["program"].as_array().unwrap();
    threads
        .iter()
        .find(|thread| thread["label"] == name)
        .unwrap_or_else(|| panic!("no thread {name}: {threads:#?}"))
}

/// How often each kind of cause is among the causes of explained cycles that were late.
fn causes(thread: &Value) -> BTreeMap<String, usize> {
    let mut causes = BTreeMap::new();
    let late = thread["late"].as_array().unwrap().iter().filter(|cycle| cycle["missed"] == true);
    for cause in late.flat_map(|cycle| cycle["causes"].as_array().unwrap()) {
        *causes.entry(cause["why"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    causes
}

#[test]
fn each_way_of_waiting_is_found_with_its_period() {
    let bench = Bench::new();
    if !can_watch(&bench) {
        return;
    }
    let ways = [
        ("absolute", "clock_nanosleep, absolute", true),
        ("relative", "clock_nanosleep, relative", false),
        ("timerfd", "read", true),
        ("epoll", "epoll_wait", true),
        ("poll", "ppoll", false),
        ("condition", "futex", true),
        ("signal", "rt_sigtimedwait", true),
        ("deadline", "sched_yield", true),
    ];
    for (way, call, has_schedule) in ways {
        let priority = if way == "deadline" { "0" } else { "50" };
        let (numbers, _) = watched(&bench, way, "none", "1500", priority);
        let thread = main_thread(&numbers, "control");
        let (interval_ns, cycles) =
            (thread["interval_ns"].as_u64().unwrap(), thread["cycles"].as_u64().unwrap());
        assert_eq!(thread["wait"], call, "{way}: {thread:#}");
        assert_eq!(thread["has_schedule"], has_schedule, "{way}");
        let expected = if has_schedule { 1_999_000..=2_001_000 } else { 2_000_000..=4_000_000 };
        assert!(expected.contains(&interval_ns), "{way}: {interval_ns}");
        assert!(cycles > 100, "{way}: {cycles}");
    }
}

#[test]
fn latencies_are_those_of_the_programs_own_log() {
    let bench = Bench::new();
    if !can_watch(&bench) {
        return;
    }
    let (_, entries) = watched(&bench, "absolute", "none", "1000", "50");
    let run = bench.json("a.run.json");
    let series = &run["series"][0];
    let (first, recorded) = (
        series["kind"]["thread"]["first_due_ns"].as_i64().unwrap(),
        series["tally"]["recorded"].as_u64().unwrap(),
    );
    assert!(recorded > 100 && series["tally"]["dropped"] == 0, "{}", series["tally"]);
    // The run counts from its own start: its worst wake-ups are found in the log by their distances.
    let worst: Vec<(i64, i64)> = (series["worst"].as_array().unwrap().iter())
        .map(|one| {
            (
                one["at_ns"].as_i64().unwrap() - one["latency_ns"].as_i64().unwrap() - first,
                one["latency_ns"].as_i64().unwrap(),
            )
        })
        .collect();
    // The program's schedule has no gap, so a due time's distance is a number of lines.
    let period_ns = entries[1].due_ns - entries[0].due_ns;
    let matched = |start: usize| -> Option<Vec<i64>> {
        let difference = |(due_ns, latency_ns): &(i64, i64)| {
            let line = start + usize::try_from((due_ns + period_ns / 2) / period_ns).ok()?;
            Some(entries.get(line)?.late_ns - latency_ns)
        };
        worst.iter().map(difference).collect()
    };
    let best = (0..entries.len()).filter_map(matched).map(|mut all| {
        all.sort_unstable();
        all
    });
    // The program reads the clock after the return of its system call, which the events delay, so where they are aligned none of its
    // readings is earlier. Elsewhere the worst of the run are beside ordinary ones.
    let is_earlier = |ns: &i64| *ns < 0;
    let spread = |all: &Vec<i64>| all[all.len() * 3 / 4] - all[all.len() / 4];
    let best = best.min_by_key(|all| (all.iter().filter(|ns| is_earlier(ns)).count(), spread(all)));
    let best = best.expect("the run's cycles are in the log");
    let median = best[best.len() / 2];
    assert!((0..20_000).contains(&median), "median difference {median} ns of {best:?}");
}

#[test]
fn each_fault_is_named_as_the_cause() {
    let bench = Bench::new();
    if !can_watch(&bench) {
        return;
    }
    let faults = [
        ("page-fault", "page_fault"),
        ("mutex", "mutex"),
        ("pipe", "system_call"),
        ("work", "own_work"),
        ("preempt", "higher_priority"),
        ("allocate", "system_call"),
    ];
    for (fault, why) in faults {
        let (numbers, entries) = watched(&bench, "absolute", fault, "1200", "50");
        let thread = main_thread(&numbers, "control");
        // Each fault takes two periods; those of the warm-up are not counted.
        let made = entries.iter().filter(|entry| entry.faulty).count();
        let cycles = thread["cycles"].as_u64().unwrap() as usize;
        let counted = made * cycles / entries.len();
        let named = causes(thread).get(why).copied().unwrap_or(0);
        assert!(counted > 2 && named + 2 >= counted, "{fault}: {named} of about {counted}: {thread:#}");
        let late = thread["late"].as_array().unwrap();
        let texts: Vec<&str> = late
            .iter()
            .flat_map(|cycle| cycle["causes"].as_array().unwrap())
            .filter(|cause| cause["why"] == why)
            .map(|cause| cause["what"].as_str().unwrap())
            .collect();
        let expected = match fault {
            "page-fault" => "page faults",
            // Its name is unknown until it is switched to.
            "mutex" => "task ",
            "pipe" => "write to pipe:[",
            "preempt" => "'rival' (task ",
            "allocate" => "(memory allocation)",
            _ => "",
        };
        // A file that the program had open when it ended has no name any longer.
        assert!(texts.iter().any(|text| text.contains(expected)), "{fault}: {texts:?}");
    }
}

#[test]
fn a_program_in_python_is_watched_too() {
    let bench = Bench::new();
    let has = |program: &str| Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !can_trace() || !has("python3") || !has("chrt") {
        return;
    }
    // With a real-time priority, because the machine has other work.
    let faults = "fsync+pages+pipe+busy";
    let command = ["chrt", "-f", "50", "python3", SCRIPT, "absolute", faults, "10000", "440", "log"];
    let options = ["exec", "--quiet", "--json", "-o", "a.run.json", "--deadline", "4ms", "--warmup", "500ms"];
    let arguments = [&options[..], &["--"], &command[..]].concat();
    let printed = bench.run(&arguments).exits(0);
    let numbers: Value = serde_json::from_str(&printed.out).unwrap();
    let thread = main_thread(&numbers, "python3");
    let causes = causes(thread);
    // The interpreter's lock is a condition variable.
    for why in ["system_call", "page_fault", "other_thread"] {
        assert!(causes.contains_key(why), "{why}: {thread:#}");
    }
    let late = thread["late"].to_string();
    assert!(late.contains("control.fsync") && late.contains("write to pipe:["), "{late}");
}

#[test]
fn a_lossy_buffer_drops_cycles_and_says_so() {
    let bench = Bench::new();
    if !can_watch(&bench) {
        return;
    }
    // The calls of one faulty cycle overflow the buffer. Without them it is large enough, so that the period is found.
    let command = ["./control", "absolute", "calls", PERIOD_US, "1200", "0"];
    let arguments = [
        &["exec", "--quiet", "--buffer", "512", "--warmup", "300ms", "-o", "a.run.json", "--"],
        &command[..],
    ]
    .concat();
    let printed = bench.run(&arguments).exits(0);
    assert!(printed.out.contains("buffers lost"), "{}", printed.out);
    let run = bench.json("a.run.json");
    let tally = &run["series"][0]["tally"];
    assert!(tally["dropped"].as_u64().unwrap() > 0, "{tally}");
    let sum: u64 = ["recorded", "missed", "dropped"].iter().map(|key| tally[key].as_u64().unwrap()).sum();
    assert_eq!(tally["attempted"], sum);
}

/// A program that runs until the test ends it.
pub(crate) struct Program(pub(crate) Child);

impl Program {
    pub(crate) fn start(bench: &Bench, words: &[&str]) -> Self {
        let mut command = Command::new(bench.path("control"));
        Self(command.args(words).current_dir(bench.path(".")).spawn().unwrap())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_program_that_does_not_end_when_asked_is_killed() {
    let bench = Bench::new();
    let ended = bench.run(&["check", "--", "sh", "-c", "trap '' TERM; exec sleep 600"]);
    assert!(ended.exits(3).err.contains("and was killed"));
}

#[test]
fn a_running_program_is_watched_checked_judged_and_compared() {
    let bench = Bench::new();
    if !can_watch(&bench) {
        return;
    }
    let running = Program::start(&bench, &["relative", "none", "2000", "1000000", "0"]);
    let pid = running.0.id().to_string();
    wait_until("the program runs", || Path::new(&format!("/proc/{pid}/task")).exists());
    for output in ["a.run.json", "b.run.json"] {
        let arguments = ["attach", &pid, "--duration", "1s", "--quiet", "-o", output, "--require", "max<10s"];
        let printed = bench.run(&arguments).exits(0);
        assert!(printed.out.contains("passed") || printed.out.contains("met"), "{}", printed.out);
    }
    // The machine is busy: the durations may differ.
    let compared = bench.run(&["compare", "a.run.json", "b.run.json", "--anyway"]);
    compared.exits(0);
    bench.run(&["gate", "a.run.json", "--require", "max<1ns"]).exits(3);
    bench.run(&["report", "a.run.json", "-o", "a.html"]).exits(0);
    let page = std::fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(page.contains("Cycles of the program"));
    let checked = bench.run(&["check", &pid]).exits(3).out;
    for rule in ["absolute-sleeps", "real-time-policy"] {
        let line = checked.lines().find(|line| line.starts_with(rule)).unwrap();
        assert!(line.contains("broken"), "{checked}");
    }
    let started = bench.run(&["check", "--", "./control", "relative", "none", "2000", "1000000", "0"]);
    let checked = started.exits(3).out;
    assert!(checked.starts_with("control (") && checked.contains("control runs every 2"), "{checked}");
    let early = bench.run(&["check", "--", "true"]).exits(1).err;
    assert!(early.contains("ended within a second"), "{early}");
    let early = bench.run(&["check", "--", "sleep", "2"]).exits(1).err;
    assert!(early.contains("ended while it was observed"), "{early}");
    let left = std::fs::read_dir("/sys/kernel/tracing/instances").unwrap().flatten();
    let own = bench.json("a.run.json")["origin"]["id"].as_str().unwrap().to_owned();
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().contains(&own)));
}

#[test]
fn a_program_without_periodic_threads_is_an_error_that_names_its_waits() {
    let bench = Bench::new();
    if !can_watch(&bench) {
        return;
    }
    let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
    let printed = bench.run(&["attach", &sleeper.id().to_string(), "--warmup", "100ms", "--quiet"]);
    let _ = sleeper.kill();
    let _ = sleeper.wait();
    assert!(printed.exits(1).err.contains("waits periodically: of 'sleep' no wait has ended"));
}

#[test]
fn another_user_sees_what_proc_shows() {
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    let tardy = copy_of_tardy(&bench, None).unwrap();
    let script = format!("sleep 30 & {} attach $! --duration 300ms; kill $!", tardy.display());
    let output = as_a_user(&bench, Path::new("sh"), 64).args(["-c", &script]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.contains("sleeps every") && out.contains("sleep"), "{out}{err}");
    assert!(err.contains("only /proc was read"), "{err}");
}

#[test]
fn a_program_that_starts_again_continues_its_series() {
    let bench = Bench::new();
    if !can_watch(&bench) {
        return;
    }
    // By a name that no other test's program has.
    let name = format!("again-{}", std::process::id() % 100_000);
    std::fs::rename(bench.path("control"), bench.path(&name)).unwrap();
    let script = format!("for i in 1 2 3 4 5 6; do ./{name} absolute none 2000 700 50; done");
    let again = Command::new("sh").args(["-c", &script]).current_dir(bench.path(".")).spawn().unwrap();
    let again = Program(again);
    wait_until("the program runs", || {
        tardy_sys::processes::all()
            .unwrap()
            .into_iter()
            .any(|pid| tardy_sys::processes::command_of(pid).is_some_and(|command| command == name))
    });
    let arguments =
        ["attach", &name, "--duration", "5s", "--warmup", "300ms", "--quiet", "--json", "-o", "a.run.json"];
    let numbers: Value = serde_json::from_str(&bench.run(&arguments).exits(0).out).unwrap();
    drop(again);
    let threads = numbers["program"].as_array().unwrap();
    assert_eq!(threads.len(), 1, "{threads:#?}");
    assert!(threads[0]["restarts"].as_u64().unwrap() >= 1, "{threads:#?}");
}
