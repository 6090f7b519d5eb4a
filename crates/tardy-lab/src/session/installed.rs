//! The emulator that is installed on this machine.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tardy_sys::programs;

use super::emulator_error::EmulatorError;
use crate::machine::Machine;

/// Turns the emulator's own sandbox on: no system calls to start a program or a process, to change privileges, priorities
/// or CPUs, nor obsolete ones.
pub(super) const SANDBOX: [&str; 2] =
    ["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"];

/// What `--version` prints before the version.
const VERSION_PREFIX: &str = "QEMU emulator version ";

/// An emulator on this machine.
#[derive(Clone, Debug)]
pub struct Installed {
    /// The program.
    pub program: PathBuf,
    /// Its version, such as `7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)`.
    pub version: String,
    /// The reason why it has no sandbox, if it has none.
    pub(super) sandbox: Result<(), String>,
}

/// The emulator for `machine`.
///
/// # Errors
/// If it is not installed, or `--version` prints something else.
pub fn installed(machine: Machine) -> Result<Installed, EmulatorError> {
    let name = machine.emulator();
    let missing = || EmulatorError::Missing { program: name, package: machine.emulator_package() };
    let program = programs::find(name).ok_or_else(missing)?;
    let start = |source| EmulatorError::Start { program: name, source };
    let run = |arguments: &[&str]| -> Result<Output, EmulatorError> {
        Command::new(&program).args(arguments).arg("--version").stdin(Stdio::null()).output().map_err(start)
    };
    // An emulator without a sandbox refuses the option and prints no version.
    let with_sandbox = run(&SANDBOX)?;
    let (version, sandbox) = match version_of(&with_sandbox) {
        Ok(version) => (version, Ok(())),
        Err(_) => (version_of(&run(&[])?).map_err(start)?, Err(refusal(&with_sandbox))),
    };
    Ok(Installed { program, version, sandbox })
}

fn version_of(output: &Output) -> Result<String, io::Error> {
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().unwrap_or_default();
    match first.strip_prefix(VERSION_PREFIX) {
        Some(version) => Ok(version.to_owned()),
        None => Err(io::Error::other(format!("--version printed '{first}'"))),
    }
}

fn refusal(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().next().unwrap_or("it refuses -sandbox").to_owned()
}
