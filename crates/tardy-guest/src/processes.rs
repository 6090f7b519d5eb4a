//! Hidden commands: the processes that the supervisor starts, and the guest's first program.

use std::path::Path;
use std::process::ExitCode;

use tardy_init::{first_program, orders};
use tardy_load::LoadContext;
use tardy_probe::timerlat_thread;
use tardy_record::load_spec::{LoadSpec, LoadSpecError};

use crate::measure::report;

/// Runs the hidden command; `None` if `words` are not one.
pub(crate) fn run(words: &[&str]) -> Option<ExitCode> {
    Some(match *words {
        [orders::COMMAND] => first_program(),
        ["__probe"] => tardy_probe::main(),
        ["__pins", pins] => tardy_measure::pins::guard_main(pins),
        ["__load", ref arguments @ ..] => {
            tardy_load::worker_main(arguments.iter().map(|word| (*word).to_owned()).collect())
        }
        ["__timerlat", supervisor_pid, cpu, priority, file] => timerlat_thread::main(
            supervisor_pid.parse().ok()?,
            cpu.parse().ok()?,
            priority.parse().ok()?,
            Path::new(file),
        ),
        _ => return None,
    })
}

fn first_program() -> ExitCode {
    match first_program::main() {
        Ok(never) => match never {},
        Err(error) => {
            report(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Receives what the loads of `host` send, until the machine ends.
pub(crate) fn receive_loads(host: &str) -> Result<(), String> {
    let load: LoadSpec = format!("sink:{host}").parse().map_err(|error: LoadSpecError| error.to_string())?;
    let own = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"))?;
    tardy_load::run_alone(&[load], &LoadContext::new(own), None, &mut std::io::stderr())
        .map(drop)
        .map_err(|error| error.to_string())
}
