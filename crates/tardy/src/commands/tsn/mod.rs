//! `tardy tsn`: a time-aware switch, from its file.

mod check;
mod machine;
mod plan;
mod simulate;
mod switch_file;

use anyhow::Result;

pub(crate) use switch_file::SwitchFileError;

use super::output;
use crate::args::TsnCommand;
use crate::exit::Exit;

/// Runs what was asked for.
pub(crate) fn run(command: &TsnCommand) -> Result<Exit> {
    match command {
        TsnCommand::Check(arguments) => check::run(arguments),
        TsnCommand::Plan(arguments) => plan::run(arguments),
        TsnCommand::Simulate(arguments) => simulate::run(arguments),
        TsnCommand::Generate(arguments) => {
            output::print(&tardy_tsn::generate::file(arguments.seed))?;
            Ok(Exit::Done)
        }
    }
}
