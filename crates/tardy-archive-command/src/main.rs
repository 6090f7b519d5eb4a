//! The program `tardy-archive`: archives of runs, their server, pushing to it, and measuring on many hosts.
//!
//! `tardy` starts it with its own command line for `archive`, `serve`, `push` and `fleet`, and with a hidden command where another command
//! reads an archive or adds to it ([`service`]). It is a program of its own because its database, its server and what encrypts are a third
//! of all that tardy would consist of.

#[cfg(feature = "server")]
mod archive;
mod fleet;
mod push;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod service;
#[cfg(feature = "server")]
mod stores;
#[cfg(not(feature = "server"))]
mod without_server;

use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use clap::FromArgMatches;
use tardy_args::{Cli, Command};
use tardy_command::{Exit, identity, message, output, program};
use tardy_sys::privileges;

#[cfg(not(feature = "server"))]
use without_server::{archive, serve, service};

const NAME: &str = "tardy-archive";
/// How the names of hidden commands begin.
const HIDDEN: &str = "__";

fn main() -> ExitCode {
    identity::set(tardy_identity::identity!());
    program::without_panic(|| program::exit_code(run(), |_| false))
}

fn run() -> Result<Exit> {
    if privileges::were_gained() {
        bail!(
            "{NAME} must not have privileges of its file: remove them with 'setcap -r' and 'chmod u-s,g-s'"
        );
    }
    let arguments: Option<Vec<String>> =
        std::env::args_os().skip(1).map(|argument| argument.into_string().ok()).collect();
    let arguments = arguments.unwrap_or_default();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_of_same_build =
        tardy_identity::check_caller(NAME, identity::get()).map_err(|reason| anyhow!(reason));
    if words.first().is_some_and(|word| word.starts_with(HIDDEN)) {
        let outcome = is_of_same_build.and_then(|()| service::answer(&words));
        // The command that asks puts its name before the message.
        return outcome.or_else(|error| {
            output::print_line(&message(&error));
            Ok(Exit::CouldNot)
        });
    }
    is_of_same_build?;
    let matches = tardy_args::command(identity::get()).try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(Cli { command: Command::Archive(command) }) => archive::run(&command),
        Ok(Cli { command: Command::Serve(arguments) }) => serve::run(&arguments),
        Ok(Cli { command: Command::Push(arguments) }) => push::run(&arguments),
        Ok(Cli { command: Command::Fleet(command) }) => fleet::run(&command),
        Ok(_) => bail!(
            "{NAME} is started by tardy, for 'archive', 'serve', 'push' and 'fleet'; other commands are tardy's own"
        ),
        Err(error) => tardy_args::with_similar_suggestion(error).exit(),
    }
}
