//! `--places`: causes of late cycles name the function of the program that made a blocking system call.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::attach::{CONTROL, Program, can_watch};
use crate::bench::{Bench, wait_until};
use crate::probe_program::is_root;

/// Whether this machine can watch programs and name places. It says why if it cannot.
pub(crate) fn can_name_places(bench: &Bench) -> bool {
    if !can_watch(bench) {
        return false;
    }
    let is_known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    // The kernel has it with CONFIG_PERF_EVENTS.
    let has_events = Path::new("/sys/kernel/tracing/events/sched/sched_switch/id").exists();
    if !is_known || !has_events || !is_root() {
        eprintln!("skipped: not root, no perf events, or stacks of this processor are not unwound");
    }
    is_known && has_events && is_root()
}

/// Builds the program again with other options.
fn build(bench: &Bench, options: &[&str]) {
    let built = Command::new("cc")
        .args(options)
        .args(["-pthread", "-o"])
        .arg(bench.path("control"))
        .arg(CONTROL)
        .status();
    assert!(built.unwrap().success());
}

/// The causes of one kind of the program's late cycles, with `options` of `tardy exec`.
fn causes(bench: &Bench, fault: &str, why: &str, options: &[&str]) -> Vec<String> {
    let exec = ["exec", "--quiet", "--json", "-o", "a.run.json", "--force", "--warmup", "300ms"];
    let arguments = [&exec, options, &["--", "./control", "absolute", fault, "4000", "1000", "50"]].concat();
    let printed = bench.run(&arguments).exits(0);
    let numbers: Value = serde_json::from_str(&printed.out).unwrap();
    let threads = numbers["program"].as_array().unwrap();
    let thread = threads.iter().find(|thread| thread["label"] == "control").unwrap();
    let late = thread["late"].as_array().unwrap();
    let causes = late.iter().flat_map(|cycle| cycle["causes"].as_array().unwrap());
    let texts =
        causes.filter(|cause| cause["why"] == why).map(|cause| cause["what"].as_str().unwrap().to_owned());
    let texts: Vec<String> = texts.collect();
    assert!(!texts.is_empty(), "{fault}: {late:#?}");
    texts
}

/// The number of the program's line with this text.
fn line_of(text: &str) -> usize {
    let source = std::fs::read_to_string(CONTROL).unwrap();
    source.lines().position(|line| line.contains(text)).unwrap() + 1
}

fn file_system_of(path: &Path) -> String {
    let output = Command::new("stat").args(["-f", "-c", "%T"]).arg(path).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn the_function_that_made_a_blocking_call_is_named() {
    let bench = Bench::new();
    if !can_name_places(&bench) {
        return;
    }
    let faults = [
        ("pipe", "system_call", "write", "write_late"),
        ("mutex", "mutex", "(task ", "wait_for_mutex"),
        ("fsync", "system_call", "fsync of ", "sync_file"),
    ];
    for (fault, why, call, function) in faults {
        if fault == "fsync" && file_system_of(&bench.path(".")) == "tmpfs" {
            eprintln!("left out: fsync does not block on tmpfs");
            continue;
        }
        let texts = causes(&bench, fault, why, &["--places"]);
        let place = format!(", from {function}+0x");
        let of_call: Vec<&String> = texts.iter().filter(|text| text.contains(call)).collect();
        let named =
            of_call.iter().filter(|text| text.contains(&place) && text.ends_with(" in control")).count();
        // A stack may be lost.
        assert!(named > 0 && named * 10 >= of_call.len() * 9, "{fault}: {texts:?}");
    }
    let without = causes(&bench, "pipe", "system_call", &[]);
    assert!(without.iter().all(|text| !text.contains(", from ")), "{without:?}");
}

#[test]
fn debug_information_names_the_line_and_a_stripped_program_the_address() {
    let bench = Bench::new();
    if !can_name_places(&bench) {
        return;
    }
    build(&bench, &["-O2", "-g", "-gz=none"]);
    let texts = causes(&bench, "pipe", "system_call", &["--places"]);
    let place =
        format!(", from write_late at control.c:{}", line_of("if (write(pipe_ends[1], text, length)"));
    assert!(texts.iter().any(|text| text.ends_with(&place)), "{place}: {texts:?}");
    build(&bench, &["-O1", "-s"]);
    let texts = causes(&bench, "pipe", "system_call", &["--places"]);
    assert!(texts.iter().any(|text| text.contains(", from control+0x")), "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains("write_late")), "{texts:?}");
}

#[test]
fn a_static_programs_own_function_is_named() {
    let bench = Bench::new();
    if !can_name_places(&bench) {
        return;
    }
    build(&bench, &["-O1", "-static"]);
    let texts = causes(&bench, "pipe", "system_call", &["--places"]);
    assert!(texts.iter().any(|text| text.contains(", from write_late+0x")), "{texts:?}");
}

#[test]
fn a_program_that_is_watched_all_the_time_has_places_too() {
    let bench = Bench::new();
    if !can_name_places(&bench) {
        return;
    }
    let program = Program::start(&bench, &["absolute", "pipe", "2000", "1000000", "50"]);
    let pid = program.0.id().to_string();
    wait_until("the program runs", || Path::new(&format!("/proc/{pid}/task")).exists());
    let watch = ["watch", &pid, "--places", "--quiet", "--json", "--warmup", "500ms", "--duration", "3s"];
    let printed =
        bench.run(&[&watch[..], &["--late", "1s", "--deadline", "3ms", "-o", "runs"]].concat()).exits(0);
    assert!(printed.out.contains(", from write_late+0x"), "{}", printed.out);
}

#[test]
fn a_kernel_that_refuses_the_event_is_an_error_that_states_what_to_do() {
    let bench = Bench::new();
    if !can_name_places(&bench) {
        return;
    }
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    if paranoid.trim().parse::<i32>().unwrap() <= 1 {
        eprintln!("skipped: this kernel samples for every user");
        return;
    }
    let program = Program::start(&bench, &["absolute", "none", "2000", "1000000", "50"]);
    let pid = program.0.id().to_string();
    wait_until("the program runs", || Path::new(&format!("/proc/{pid}/task")).exists());
    let refused = |places: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", "-perfmon,-sys_admin", "--inh-caps", "-perfmon,-sys_admin"]);
        command.arg(env!("CARGO_BIN_EXE_tardy")).args(["attach", &pid, "--quiet", "--duration", "300ms"]);
        command.args(["-o", "a.run.json", "--force"]).args(places).current_dir(bench.path("."));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = refused(&["--places"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("perf_event_open") && text.contains("kernel.perf_event_paranoid"), "{text}");
    assert!(text.contains("leave out --places"), "{text}");
    // Nothing else was refused.
    let (code, text) = refused(&[]);
    assert_eq!(code, Some(0), "{text}");
}
