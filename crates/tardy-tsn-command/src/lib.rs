//! `tardy tsn`: a time-aware switch described by a file.

mod apply;
mod bounds;
mod check;
mod frames;
mod machine;
mod one_switch;
mod plan;
mod remove;
mod show;
mod simulate;
pub mod switch_file;
mod synthesize;
mod test;
mod watch;

use anyhow::Result;
use tardy_args::TsnCommand;
use tardy_command::{Exit, output};
use tardy_measure::Programs;

/// Runs the subcommand. `programs`: those that a test starts.
///
/// # Errors
/// If the command fails: what is wrong, where, and what to do.
pub fn run(command: &TsnCommand, programs: impl FnOnce() -> Result<Programs>) -> Result<Exit> {
    match command {
        TsnCommand::Check(arguments) => check::run(arguments),
        TsnCommand::Plan(arguments) => plan::run(arguments),
        TsnCommand::Simulate(arguments) => simulate::run(arguments),
        TsnCommand::Bounds(arguments) => bounds::run(arguments),
        TsnCommand::Synthesize(arguments) => synthesize::run(arguments),
        TsnCommand::Generate(arguments) => {
            output::print_data(&tardy_tsn::generate::file(arguments.seed))?;
            Ok(Exit::Done)
        }
        TsnCommand::Apply(arguments) => apply::run(arguments),
        TsnCommand::Remove(arguments) => remove::run(arguments),
        TsnCommand::Show(arguments) => show::run(arguments),
        TsnCommand::Watch(arguments) => watch::run(arguments),
        TsnCommand::Test(arguments) => test::run(arguments, programs()?),
    }
}
