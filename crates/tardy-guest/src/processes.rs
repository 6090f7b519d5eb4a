//! The guest's first program, and the receiver of what loads send.

use std::process::ExitCode;

use tardy_init::{first_program, orders};
use tardy_load::LoadContext;
use tardy_record::load_spec::{LoadSpec, LoadSpecError};

use crate::measure::report;

/// Runs the hidden command; `None` if `words` are not one.
pub(crate) fn run(words: &[&str]) -> Option<ExitCode> {
    match *words {
        [orders::COMMAND] => Some(first_program()),
        _ => {
            tardy_attach::reader::run_command(words).or_else(|| tardy_measure::processes::run_command(words))
        }
    }
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
