//! How the main function of an executable of tardy ends.

use std::process::ExitCode;

use anyhow::{Error, Result};
use tardy_analyse::stop;
use tardy_recipe::{RecipeError, UsageError};

use crate::{Exit, message, output};

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
