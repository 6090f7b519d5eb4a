//! The program `tardy-archive`: archives of runs, their server, pushing to it, and measuring on many hosts.
//!
//! `tardy` starts it with its own command line for `archive`, `serve`, `push` and `fleet`, and with a hidden command where another command
//! reads an archive or adds to it (`service.rs`). It is a program of its own because its database, its server and what encrypts are a third
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

use anyhow::{Result, bail};
use tardy_args::Command;
use tardy_command::{Exit, identity, message, output, program};

#[cfg(not(feature = "server"))]
use without_server::{archive, serve, service};

const NAME: &str = "tardy-archive";
/// How the names of hidden commands begin.
const HIDDEN: &str = "__";

fn main() -> ExitCode {
    identity::set(tardy_identity::identity!());
    program::without_panic(|| {
        let arguments = program::arguments();
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.first() {
            Some(word) if word.starts_with(HIDDEN) => answer(&words).into(),
            _ => program::exit_code(program::run_part(NAME, run), |_| false),
        }
    })
}

/// Runs a hidden command. The command that asks puts its name before a message.
fn answer(words: &[&str]) -> Exit {
    let outcome = program::check_start(NAME).and_then(|()| service::answer(words));
    outcome.unwrap_or_else(|error| {
        output::print_line(&message(&error));
        Exit::CouldNot
    })
}

fn run(command: Command) -> Result<Exit> {
    match command {
        Command::Archive(command) => archive::run(&command),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Push(arguments) => push::run(&arguments),
        Command::Fleet(command) => fleet::run(&command),
        _ => bail!(
            "{NAME} is started by tardy, for 'archive', 'serve', 'push' and 'fleet'; other commands are tardy's own"
        ),
    }
}
