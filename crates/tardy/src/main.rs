//! The command `tardy`: arguments, commands and exit statuses.

mod commands;
mod cyclictest;
mod gained_privileges;
mod live;
mod other_programs;

use std::process::ExitCode;

use clap::FromArgMatches;

use tardy_args::{Cli, Command};
use tardy_command::{Exit, executables, identity, program};

fn main() -> ExitCode {
    identity::set(tardy_identity::identity!());
    let arguments = program::arguments();
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
    let mut command = tardy_args::command(identity::get());
    if let Some(missing) = other_programs::missing(&words) {
        command = command.after_help(missing);
    }
    match command.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => program::without_panic(|| exit_code(run(cli))),
        Err(error) => match other_programs::named(&error, &words) {
            Some(name) => exit_code(run_other(name)),
            None => tardy_args::with_similar_suggestion(error).exit(),
        },
    }
}

fn exit_code(outcome: anyhow::Result<Exit>) -> ExitCode {
    program::exit_code(outcome, |error| error.is::<tardy_tsn_command::switch_file::SwitchFileError>())
}

/// Runs `tardy-NAME` in place of this program, which gives it no privileges, with what follows the name.
fn run_other(name: &str) -> anyhow::Result<Exit> {
    gained_privileges::give_up()?;
    match executables::replace(name, 1)? {}
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
        Command::Archive(_) | Command::Serve(_) | Command::Push(_) | Command::Fleet(_) => {
            match executables::replace("archive", 0)? {}
        }
        Command::Name(arguments) => commands::name::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Share(arguments) => commands::share::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
        Command::Cyclictest { arguments } => cyclictest::run(arguments),
        Command::Gpio(command) => commands::gpio::run(&command),
        Command::Lab(_) => match executables::replace("lab", 0)? {},
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
