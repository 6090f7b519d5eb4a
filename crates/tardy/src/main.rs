//! tardy's front door: arguments, commands and exit statuses.

mod args;
mod commands;
mod cyclictest;
mod exit;
mod program_words;
mod progress;
mod published;
mod recipe;
mod resolve;
mod resolve_loads;
mod resolve_pins;
mod resolve_probe;
mod resolve_stimulus;
mod resolve_wiggle;
mod unused_options;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use exit::Exit;
use tardy_record::units::DurationError;

fn main() -> ExitCode {
    if let Some(words) = cyclictest::called_so(std::env::args_os()) {
        return ended(cyclictest::run(words));
    }
    // Clap would end with 2 for --help's sake as well as for mistakes, and does: 0 and 2, as promised.
    let cli = Cli::parse();
    ended(run(cli))
}

/// The exit status, after saying what went wrong.
fn ended(outcome: anyhow::Result<Exit>) -> ExitCode {
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            commands::output::tell(&in_words(&error));
            let usage = error.is::<resolve::UsageError>()
                || error.is::<recipe::RecipeError>()
                || error.is::<commands::tsn::SwitchFileError>()
                || error.is::<DurationError>();
            if usage { Exit::Usage } else { Exit::CouldNot }.into()
        }
    }
}

/// The error with its causes, each said once: many of them quote the next already.
fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !words.contains(&cause) {
            words = if words.is_empty() { cause } else { format!("{words}: {cause}") };
        }
    }
    words
}

fn run(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Load(arguments) => commands::load::run(&arguments),
        Command::Show(arguments) => commands::show::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Plot(arguments) => commands::plot::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::List(arguments) => commands::list::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
        Command::Cyclictest { words } => cyclictest::run(words),
        Command::Gpio(command) => commands::gpio::run(&command),
        Command::Lab(command) => commands::lab::run(&command),
        Command::Tsn(command) => commands::tsn::run(&command),
        Command::Restore(arguments) => commands::restore::run(&arguments),
        Command::Schema => commands::schema::run(),
        Command::Completions { shell } => commands::generate::completions(shell),
        Command::Generate { directory } => commands::generate::all(&directory),
        Command::Probe => commands::inner::probe(),
        Command::PinsGuard { pins } => commands::inner::pins_guard(&pins),
        Command::Guest => commands::inner::guest(),
        Command::ThreadCost { priority, cycles, command } => {
            commands::inner::thread_cost(&command, priority, cycles)
        }
        Command::Timerlat { supervisor_pid, cpu, priority, file } => {
            commands::inner::timerlat(supervisor_pid, cpu, priority, &file)
        }
        Command::LoadWorker { arguments } => commands::inner::load(arguments),
    }
}
