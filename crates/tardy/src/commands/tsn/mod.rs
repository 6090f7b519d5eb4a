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
pub(crate) mod switch_file;
mod synthesize;
mod test;
mod watch;

use anyhow::Result;

pub(crate) use switch_file::SwitchFileError;

use super::output;
use crate::exit::Exit;
use tardy_args::TsnCommand;

/// Runs the subcommand.
pub(crate) fn run(command: &TsnCommand) -> Result<Exit> {
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
        TsnCommand::Test(arguments) => test::run(arguments),
    }
}
