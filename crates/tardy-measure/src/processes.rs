//! The hidden commands by which the supervisor starts its other processes.

use std::process::ExitCode;

/// Runs the hidden command `words`: a process that measures, one of a load, or the guard of the GPIO lines. `None` if they are
/// not one.
pub fn run_command(words: &[&str]) -> Option<ExitCode> {
    Some(match *words {
        ["__pins", pins] => crate::pins::guard_main(pins),
        ["__load", ref arguments @ ..] => {
            tardy_load::worker_main(arguments.iter().map(|word| (*word).to_owned()).collect())
        }
        _ => return tardy_probe::run_command(words),
    })
}
