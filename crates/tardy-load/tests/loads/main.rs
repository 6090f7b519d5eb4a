//! Loads on this machine: every part makes progress, and nothing of any load outlives tardy.
//!
//! The tests have their own harness: load processes are this executable, and the tests run one after the other, because
//! loads disturb each other's rates.
//!
//! Alternative not taken: a separate binary for the processes, which would be built and installed with tardy.

mod built_in;
mod ends;
mod hackbench;
mod judged;
mod kinds;
mod peers;
mod processes;

use std::io;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::Instant;

use tardy_load::{LoadContext, run_alone, worker_main};
use tardy_record::load_spec::LoadSpec;

/// A test and its name.
type Test = (&'static str, fn());

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("__load") => worker_main(arguments[1..].to_vec()),
        Some("alone") => alone(&arguments[1..]),
        _ => run_tests(&arguments),
    }
}

/// Runs loads as `tardy load` does: `alone PORT PEER-OR-DASH LOAD...`.
fn alone(arguments: &[String]) -> ExitCode {
    let mut context = context();
    context.port = arguments[0].parse().expect("a port");
    context.peer = Some(arguments[1].clone()).filter(|peer| peer != "-");
    match run_alone(&specs(&arguments[2..]), &context, None, &mut io::stderr()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The context of the tests: this executable, and any free port.
fn context() -> LoadContext {
    let exe = std::env::current_exe().expect("this executable has a path");
    LoadContext { port: 0, ..LoadContext::new(exe) }
}

fn specs<S: AsRef<str>>(texts: &[S]) -> Vec<LoadSpec> {
    texts.iter().map(|text| text.as_ref().parse().unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// Runs the tests whose names contain one of the arguments without a dash. `--ignored` runs those that take long,
/// `--list` only lists them.
fn run_tests(arguments: &[String]) -> ExitCode {
    let words: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let usual =
        [kinds::TESTS, built_in::TESTS, ends::TESTS, peers::TESTS, judged::TESTS, hackbench::TESTS].concat();
    let tests = if has("--ignored") { judged::SOAKS.to_vec() } else { usual };
    let is_wanted =
        |(name, _): &&Test| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let wanted: Vec<&Test> = tests.iter().filter(is_wanted).collect();
    if has("--list") {
        wanted.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let mut failed = Vec::new();
    for (name, test) in wanted {
        let start = Instant::now();
        let passed = catch_unwind(test).is_ok();
        println!(
            "test {name} ... {} ({:.1} s)",
            if passed { "ok" } else { "FAILED" },
            start.elapsed().as_secs_f64()
        );
        if !passed {
            failed.push(*name);
        }
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { panic!("failed: {}", failed.join(", ")) }
}
