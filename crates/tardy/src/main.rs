//! The command `tardy`: arguments, commands and exit statuses.

mod commands;
mod cyclictest;
mod gained_privileges;
mod live;

use std::process::ExitCode;

use clap::FromArgMatches;

use tardy_analyse::stop;
use tardy_args::{Cli, Command};
use tardy_command::{Exit, identity, message, output};

fn main() -> ExitCode {
    identity::set(tardy_identity::identity!());
    let arguments: Option<Vec<String>> =
        std::env::args_os().skip(1).map(|argument| argument.into_string().ok()).collect();
    let arguments = arguments.unwrap_or_default();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Err(error) = gained_privileges::prepare(&words) {
        return exit_code(Err(error));
    }
    if let Some(arguments) = cyclictest::arguments_if_named_cyclictest(std::env::args_os()) {
        return exit_code(cyclictest::run(arguments));
    }
    // The process of a supervisor of a run, of loads, or of a session that watches a program.
    let hidden = || tardy_attach::reader::run_command(&words);
    if let Some(status) = tardy_measure::processes::run_command(&words).or_else(hidden) {
        return status;
    }
    let matches = tardy_args::command(identity::get()).try_get_matches();
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => without_panic(|| exit_code(run(cli))),
        Err(error) => tardy_args::with_similar_suggestion(error).exit(),
    }
}

/// What `command` returns. If it panics, that is a fault of tardy, such as a file that was accepted and has numbers that no code expects:
/// what the command changed is undone on the way here, and its exit status is that of a command that failed.
fn without_panic(command: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let reason = stop::message_of(panic.payload()).unwrap_or_default();
        output::report(&format!(
            "a fault of tardy at {place}: {reason}; report it with the command and its files"
        ));
    }));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(command)).unwrap_or(Exit::CouldNot.into())
}

/// The exit status of a command. Prints its error, if it failed.
fn exit_code(outcome: anyhow::Result<Exit>) -> ExitCode {
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::report(&message(&error));
            let usage =
                error.downcast_ref().is_some_and(|error: &tardy_recipe::UsageError| !error.machine_lacks)
                    || error.is::<tardy_recipe::RecipeError>()
                    || error.is::<tardy_tsn_command::switch_file::SwitchFileError>();
            if usage { Exit::Usage } else { Exit::CouldNot }.into()
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<Exit> {
    gained_privileges::limit_to(&cli.command)?;
    match cli.command {
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Attach(arguments) => commands::attach::run(&arguments),
        Command::Exec(arguments) => commands::exec::run(&arguments),
        Command::Watch(arguments) => commands::watch::run(&arguments),
        Command::Reflect(arguments) => commands::reflect::run(&arguments),
        Command::Load(arguments) => commands::load::run(&arguments),
        Command::Show(arguments) => commands::show::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Plot(arguments) => commands::plot::run(&arguments),
        Command::Duration(arguments) => commands::duration::run(&arguments),
        Command::Gate(arguments) => commands::gate::run(&arguments),
        Command::History(arguments) => commands::history::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::List(arguments) => commands::list::run(&arguments),
        Command::Archive(command) => commands::archive::run(&command),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Push(arguments) => commands::push::run(&arguments),
        Command::Fleet(command) => commands::fleet::run(&command),
        Command::Name(arguments) => commands::name::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Share(arguments) => commands::share::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
        Command::Cyclictest { arguments } => cyclictest::run(arguments),
        Command::Gpio(command) => commands::gpio::run(&command),
        Command::Lab(command) => commands::lab::run(command),
        Command::Tsn(command) => tardy_tsn_command::run(&command, commands::programs::of_tardy),
        Command::Recover(arguments) => commands::recover::run(&arguments),
        Command::Restore(arguments) => commands::restore::run(&arguments),
        Command::Schema => commands::schema::run(),
        Command::Completions { shell } => commands::generate::completions(shell),
        Command::Generate { directory } => commands::generate::all(&directory),
        Command::Guest => commands::inner::guest(),
        Command::ThreadCost { priority, cycles, command } => {
            commands::inner::thread_cost(&command, priority, cycles)
        }
    }
}
