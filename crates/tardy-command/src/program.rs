//! The main functions of the executables of tardy.

use std::process::ExitCode;

use anyhow::{Error, Result, anyhow, bail};
use clap::FromArgMatches;
use tardy_analyse::stop;
use tardy_args::{Cli, Command};
use tardy_recipe::{RecipeError, UsageError};
use tardy_sys::privileges;

use crate::{Exit, identity, message, output};

/// The arguments of this process; none if one of them is not UTF-8, since then none of them is a hidden command.
pub fn arguments() -> Vec<String> {
    let arguments: Option<Vec<String>> =
        std::env::args_os().skip(1).map(|argument| argument.into_string().ok()).collect();
    arguments.unwrap_or_default()
}

/// The exit status of a command's outcome. Prints its error, if it failed. `is_about_options`: whether an error is about what the user gave.
pub fn exit_code(outcome: Result<Exit>, is_about_options: impl FnOnce(&Error) -> bool) -> ExitCode {
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::report(&message(&error));
            let usage = error.downcast_ref().is_some_and(|error: &UsageError| !error.machine_lacks)
                || error.is::<RecipeError>()
                || is_about_options(&error);
            if usage { Exit::Usage } else { Exit::CouldNot }.into()
        }
    }
}

/// What `command` returns. If it panics, that is a fault of tardy, such as a file that was accepted and has numbers that no code expects:
/// what the command changed is undone on the way here, and its exit status is that of a command that failed.
pub fn without_panic(command: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let reason = stop::message_of(panic.payload()).unwrap_or_default();
        output::report(&format!(
            "a fault of tardy at {place}: {reason}; report it with the command and its files"
        ));
    }));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(command)).unwrap_or(Exit::CouldNot.into())
}

/// Whether the program `name` may work: it has no privileges of its file, and if `tardy` started it, both are of the same build.
///
/// # Errors
/// If not: why, and what to do.
pub fn check_start(name: &str) -> Result<()> {
    if privileges::were_gained() {
        bail!(
            "{name} must not have privileges of its file: remove them with 'setcap -r' and 'chmod u-s,g-s'"
        );
    }
    tardy_identity::check_caller(name, identity::get()).map_err(|reason| anyhow!(reason))
}

/// Runs the command of this process's command line, which is that of the `tardy` that started `name`. Ends the process if it cannot be
/// read, or asks for help.
///
/// # Errors
/// Those of [`check_start`] and of `run`.
pub fn run_part(name: &str, run: impl FnOnce(Command) -> Result<Exit>) -> Result<Exit> {
    check_start(name)?;
    let matches = tardy_args::command(identity::get()).try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => run(cli.command),
        Err(error) => tardy_args::with_similar_suggestion(error).exit(),
    }
}
