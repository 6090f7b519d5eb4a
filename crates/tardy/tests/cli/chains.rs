//! Chains of threads, marks, and killed runs of `tardy attach` and `tardy exec`, on `tests/programs/chain.c`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, Printed, Running, wait_until};
use crate::levels::can_trace;

const CHAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/chain.c");
const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
/// Long enough that tardy has found the threads before the program ends, on a loaded machine too.
const CYCLES: &str = "3000";

/// Builds the program in the directory of `bench`. `false`, with the reason on standard error, if this machine cannot trace or
/// has no C compiler.
fn can_watch(bench: &Bench) -> bool {
    if !can_trace() {
        return false;
    }
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I", HEADERS, "-o"]);
    match compiler.arg(bench.path("chain")).arg(CHAIN).status() {
        Ok(status) => assert!(status.success(), "{CHAIN} does not compile"),
        Err(error) => eprintln!("skipped: cc: {error}"),
    }
    bench.path("chain").exists()
}

/// The numbers of the program under `tardy exec`, which also demands `required`.
fn watched(bench: &Bench, way: &str, fault: &str, required: &[&str], exit: i32) -> (Value, String) {
    let mut arguments = vec!["exec", "--quiet", "-o", "a.run.json", "--force", "--warmup", "300ms"];
    arguments.extend(required.iter().flat_map(|one| ["--require", one]));
    arguments.extend(["--", "./chain", way, fault, "2000", CYCLES, "50", "log"]);
    let printed = bench.run(&arguments).exits(exit);
    let numbers = bench.run(&["show", "a.run.json", "--json"]).exits(0).out;
    (serde_json::from_str(&numbers).unwrap(), printed.out)
}

fn chain_of<'n>(numbers: &'n Value, label: &str) -> &'n Value {
    let chains = numbers["chains"].as_array().unwrap_or_else(|| panic!("no chains: {numbers:#}"));
    chains.iter().find(|chain| chain["label"] == label).unwrap_or_else(|| {
        panic!("no {label}: {:#?}", chains.iter().map(|one| &one["label"]).collect::<Vec<_>>())
    })
}

/// The times of all passages in the program's log.
fn log(bench: &Bench) -> Vec<i64> {
    let text = std::fs::read_to_string(bench.path("log")).unwrap();
    text.lines().map(|line| line.split_once(' ').unwrap().1.parse().unwrap()).collect()
}

fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values[values.len() / 2]
}

#[test]
fn threads_that_wake_one_another_are_a_chain_whose_parts_add_up() {
    let bench = Bench::new();
    if !can_watch(&bench) {
        return;
    }
    for way in ["pipe", "socket", "condition"] {
        let (numbers, shown) = watched(&bench, way, "none", &[], 0);
        let chain = chain_of(&numbers, "sensor > control > bus");
        let (passages, cycles) =
            (chain["latency"]["recorded"].as_u64().unwrap(), chain["first_cycles"].as_u64().unwrap());
        assert!(passages > 100 && cycles >= passages, "{way}: {passages} of {cycles}: {shown}");
        // Nearly all: a thread that is still awake when the next message comes is not woken.
        assert!(passages * 10 >= cycles * 7, "{way}: {passages} of {cycles}: {shown}");
        let late = chain["late"].as_array().unwrap();
        for passage in late {
            let parts = passage["stages"].as_array().unwrap().iter();
            let parts =
                parts.map(|one| one["wake_up_ns"].as_u64().unwrap() + one["run_ns"].as_u64().unwrap());
            assert_eq!(parts.sum::<u64>(), passage["took_ns"].as_u64().unwrap(), "{way}");
        }
        let run = bench.json("a.run.json");
        let of_chain = |series: &&Value| series["kind"]["number"] == 0;
        let sums: Vec<i64> = run["series"]
            .as_array()
            .unwrap()
            .iter()
            .filter(of_chain)
            .map(|one| one["sum_ns"].as_i64().unwrap())
            .collect();
        assert_eq!(sums.len(), 7, "{way}");
        assert_eq!(sums[0], sums[1..].iter().sum::<i64>(), "{way}");
        // The program's own times end before the last thread waits again.
        let logged = median(log(&bench));
        let shown_ns = chain["latency"]["mean_ns"].as_f64().unwrap() as i64;
        assert!(logged > 0 && shown_ns > logged / 2, "{way}: {shown_ns} ns, and {logged} in the log");
        assert!(shown.contains("Chains of threads, in us"), "{shown}");
    }
    bench.run(&["report", "a.run.json", "-o", "a.html"]).exits(0);
    let page = std::fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(page.contains("Chains of threads, in µs"));
}

#[test]
fn a_chain_is_judged_by_its_name_and_its_slow_thread_is_named() {
    let bench = Bench::new();
    if !can_watch(&bench) {
        return;
    }
    let (numbers, shown) = watched(&bench, "pipe", "control", &[], 0);
    let chain = numbers["chains"][0].clone();
    // The fault takes four periods.
    let worst = chain["latency"]["max_ns"].as_u64().unwrap();
    assert!(worst > 8_000_000, "{worst}");
    let late = &chain["late"][0]["stages"];
    let longest = (0..3).max_by_key(|index| late[index]["run_ns"].as_u64().unwrap()).unwrap();
    assert!(late[longest]["run_ns"].as_u64().unwrap() > 8_000_000 && longest == 1, "{late:#}");
    assert!(shown.contains("while") && shown.contains("control ran"), "{shown}");
    let spaceless = "sensor>control>bus";
    bench.run(&["gate", "a.run.json", "--require", &format!("/{spaceless}: max<8ms")]).exits(3);
    bench.run(&["gate", "a.run.json", "--require", &format!("/{spaceless}: max<100s")]).exits(0);
    let unknown = bench.run(&["gate", "a.run.json", "--require", "/nothing: max<8ms"]).exits(5).out;
    assert!(unknown.contains(spaceless), "{unknown}");
}

#[test]
fn marks_and_probes_are_stretches_with_a_deadline() {
    let bench = Bench::new();
    if !can_watch(&bench) {
        return;
    }
    for fault in ["marker", "probe"] {
        let (numbers, shown) =
            watched(&bench, "one", fault, &["/law,marked: max<100s", "/law,marked: max<1ns"], 3);
        let mark = &numbers["marks"][0];
        assert_eq!(mark["name"], "law", "{fault}: {numbers:#}");
        let interval_ns = mark["interval_ns"].as_u64().unwrap();
        assert!((1_000_000..=3_000_000).contains(&interval_ns), "{fault}: {interval_ns}");
        assert_eq!(mark["deadline_ns"], interval_ns, "{fault}");
        let stretches = mark["duration"]["recorded"].as_u64().unwrap();
        let cycles = numbers["program"][0]["cycles"].as_u64().unwrap();
        assert!(stretches > 100 && stretches.abs_diff(cycles) <= 2, "{fault}: {stretches} of {cycles}");
        // The marked work takes a twentieth of the period by the thread's own CPU time.
        assert!(mark["duration"]["min_ns"].as_u64().unwrap() >= 100_000, "{fault}: {mark:#}");
        assert!(shown.contains("Marked stretches, in us"), "{shown}");
    }
}

#[test]
fn a_script_marks_by_the_common_file() {
    let bench = Bench::new();
    let marker = Path::new("/sys/kernel/tracing/trace_marker");
    if !can_trace() || Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let script = "import os, time\n\
        path = os.environ.get('TARDY_TRACE_MARKER', '/sys/kernel/tracing/trace_marker')\n\
        file = os.open(path, os.O_WRONLY)\n\
        for cycle in range(1000):\n\
        \x20   time.sleep(0.004)\n\
        \x20   os.write(file, b'B|0|filter')\n\
        \x20   os.write(file, b'E|0')\n";
    std::fs::write(bench.path("marks.py"), script).unwrap();
    let has_copies = Path::new("/sys/kernel/tracing/options/copy_trace_marker").exists() && marker.exists();
    // Without the variable, the script writes to the file that all users of tracefs share.
    let ways: &[&[&str]] =
        &[&["python3", "marks.py"], &["env", "-u", "TARDY_TRACE_MARKER", "python3", "marks.py"]];
    for command in &ways[..if has_copies { 2 } else { 1 }] {
        let arguments = [
            &["exec", "--quiet", "--json", "--warmup", "300ms", "-o", "a.run.json", "--force", "--"],
            *command,
        ]
        .concat();
        let printed = bench.run(&arguments).exits(0);
        let numbers: Value = serde_json::from_str(&printed.out).unwrap();
        let mark = &numbers["marks"][0];
        assert_eq!(mark["name"], "filter", "{command:?}: {numbers:#}");
        assert!(mark["duration"]["recorded"].as_u64().unwrap() > 50, "{command:?}: {mark:#}");
    }
}

#[test]
fn a_killed_run_keeps_its_last_checkpoint() {
    let bench = Bench::new();
    if !can_watch(&bench) {
        return;
    }
    let mut program = Command::new(bench.path("chain"));
    program.args(["one", "probe", "2000", "1000000", "50", "log"]).current_dir(bench.path("."));
    let program = Running::of(program);
    let pid = program.id().to_string();
    let arguments =
        ["attach", &pid, "--duration", "1000s", "--warmup", "300ms", "--quiet", "-o", "a.run.json"];
    let mut tardy = Running::of(bench.command_with_own_journal(&arguments));
    let path = bench.path("a.run.json");
    wait_until("a checkpoint with cycles", || {
        path.exists() && bench.json("a.run.json")["series"].as_array().is_some_and(|all| !all.is_empty())
    });
    let shown = bench.run(&["show", "a.run.json"]);
    assert!(shown.err.contains("still in progress"), "{}", shown.err);
    let own = tardy.id();
    tardy.kill().unwrap();
    tardy.wait().unwrap();
    let shown = bench.run(&["show", "a.run.json"]);
    assert!(shown.err.contains("was cut short"), "{}", shown.err);
    bench.run(&["recover", "a.run.json"]).exits(0);
    let run = bench.json("a.run.json");
    assert_eq!(run["progress"]["state"], "cut_short");
    assert!(run["series"][0]["tally"]["recorded"].as_u64().unwrap() > 0);
    let events = || std::fs::read_to_string("/sys/kernel/tracing/uprobe_events").unwrap_or_default();
    let group = format!("tardy_{own}/");
    assert!(events().contains(&group), "{}", events());
    Printed::from(bench.command_with_own_journal(&["restore"]).output().unwrap()).exits(0);
    assert!(!events().contains(&group), "{}", events());
    let id = run["origin"]["id"].as_str().unwrap();
    let instances = std::fs::read_dir("/sys/kernel/tracing/instances").unwrap().flatten();
    assert!(instances.into_iter().all(|entry| !entry.file_name().to_string_lossy().contains(id)));
}
