//! The program `tardy-lab`: finds and builds kernels, prepares and boots guests, compares and explains their runs.
//!
//! `tardy` starts it with its own command line for `lab`. It is a program of its own because most users measure real machines.

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

use std::process::ExitCode;

use anyhow::{Result, bail};
use tardy_args::{Command, LabCommand};
use tardy_command::{Exit, identity, program};
use tardy_tsn_command::switch_file::SwitchFileError;

const NAME: &str = "tardy-lab";

fn main() -> ExitCode {
    identity::set(tardy_identity::identity!());
    program::without_panic(|| {
        program::exit_code(program::run_part(NAME, run), |error| error.is::<SwitchFileError>())
    })
}

fn run(command: Command) -> Result<Exit> {
    let Command::Lab(command) = command else {
        bail!("{NAME} is started by tardy, for 'lab'; other commands are tardy's own");
    };
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
