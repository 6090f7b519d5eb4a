//! `tardy-guest`: the program that a lab's guest consists of, besides its kernel.
//!
//! It is the guest's first program, and accepts the commands that the host puts into the guest's orders: to run a recipe, to
//! test a switch, to watch a program, and to receive what loads send. It presents nothing and reads no files of other programs. Its content, and
//! thus the lab's results, does not depend on code for presenting and importing: scripts/check-guest-program checks that.

mod exec;
mod measure;
mod processes;

use std::process::ExitCode;

use tardy_init::orders::COMMAND;

/// musl's allocator maps and frees a page or more for most of what the supervisor needs once per second, and a kernel that is not preemptible
/// does not switch meanwhile. This one keeps its memory.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// The kernel passes the words of its command line that it does not know to its first program too, before the program's own argument.
fn without_the_kernels(words: Vec<&str>) -> Vec<&str> {
    match words.last() {
        Some(last) if *last == COMMAND => vec![COMMAND],
        _ => words,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words = without_the_kernels(arguments.iter().map(String::as_str).collect());
    if let Some(status) = processes::run(&words) {
        return status;
    }
    let done = match words[..] {
        ["run", recipe, "-o", output] => measure::recipe(recipe, output, 1.0),
        ["run", recipe, "-o", output, "--scale", scale] => measure::scaled_recipe(recipe, output, scale),
        ["tsn", "test", file, "--netns", "-o", output] => measure::switch(file, output, None),
        ["tsn", "test", file, "--netns", "-o", output, "--for", time] => {
            measure::switch(file, output, Some(time))
        }
        ["exec", ref words @ ..] => exec::exec(words),
        ["load", "sink", host] => processes::receive_loads(host),
        _ => Err(format!("'{}' is not a command of the program for guests", words.join(" "))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            measure::report(&reason);
            ExitCode::FAILURE
        }
    }
}
