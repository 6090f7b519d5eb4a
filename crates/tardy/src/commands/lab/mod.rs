//! `tardy lab`: finds kernels, prepares and boots guests, compares and explains their runs.

mod assemble;
mod attach;
mod beside;
mod bisect;
mod build;
mod explain;
mod explained_runs;
mod guest_program;
mod history;
mod kept_boots;
mod kernels;
mod prepare;
mod results;
mod run;
mod sweep;
mod switch;
mod verify;

use anyhow::Result;

use tardy_args::LabCommand;
use tardy_command::Exit;

/// Runs the subcommand.
pub(crate) fn run(command: LabCommand) -> Result<Exit> {
    match command {
        LabCommand::Run(arguments) => run::run(&arguments),
        LabCommand::Attach(arguments) => attach::run(*arguments),
        LabCommand::Explain(arguments) => explain::run(&arguments),
        LabCommand::Verify(arguments) => verify::run(&arguments),
        LabCommand::Build(arguments) => build::run(&arguments),
        LabCommand::Bisect(arguments) => bisect::run(&arguments),
        LabCommand::Sweep(arguments) => sweep::run(&arguments),
        LabCommand::History(arguments) => history::run(&arguments),
        LabCommand::Kernels(arguments) => kernels::run(&arguments),
    }
}
