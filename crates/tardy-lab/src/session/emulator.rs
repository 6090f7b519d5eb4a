//! The emulator's process. It is pinned and dies with its parent.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use tardy_sys::files::Directory;
use tardy_sys::{child, scheduling, thread_usage};
use thiserror::Error;

use super::Session;
use crate::machine::Machine;

/// Why the emulator does not run.
#[derive(Debug, Error)]
pub enum EmulatorError {
    /// It is not installed.
    #[error("{program} is not installed: install {package} (apt-get install {package})")]
    Missing {
        /// The program.
        program: &'static str,
        /// Debian's package of it.
        package: &'static str,
    },
    /// It cannot be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// The program.
        program: &'static str,
        /// The error.
        source: io::Error,
    },
    /// It cannot be pinned to its CPU.
    #[error("the emulator cannot be pinned to cpu {core}: {source}")]
    Pin {
        /// The host CPU.
        core: u32,
        /// The error.
        source: io::Error,
    },
    /// Its output cannot be read.
    #[error("the emulator's output cannot be read: {0}")]
    Read(io::Error),
}

/// A running emulator. Dropping it kills the process.
pub(super) struct Emulator {
    child: Child,
    output: ChildStdout,
    errors: File,
}

impl Emulator {
    /// Starts the emulator. The calling thread is pinned first and stays pinned, because a child inherits the affinity
    /// from its first instruction. The emulator dies with this thread.
    pub(super) fn start(session: &Session<'_>) -> Result<Self, EmulatorError> {
        let program = session.machine.emulator();
        if let Some(core) = session.core {
            scheduling::set_affinity(&[core]).map_err(|source| EmulatorError::Pin { core, source })?;
        }
        let start = |source| EmulatorError::Start { program, source };
        let errors = Directory::named(session.directory).and_then(|directory| directory.unnamed_file());
        let errors = errors.map_err(start)?;
        let mut command = Command::new(program);
        command
            .args(session.arguments)
            .current_dir(session.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command.stderr(errors.try_clone().map_err(start)?);
        child::prepare(&mut command, &[]);
        let mut child = command.spawn().map_err(|source| start_error(session.machine, source))?;
        let output = child.stdout.take().expect("its standard output is a pipe");
        Ok(Self { child, output, errors })
    }

    pub(super) fn output(&mut self) -> &mut ChildStdout {
        &mut self.output
    }

    /// The CPU time that it has used; `None` if the kernel does not report it.
    pub(super) fn cpu_time(&self) -> Option<Duration> {
        thread_usage::of_process(self.child.id()).ok()
    }

    /// Kills the emulator.
    pub(super) fn end(&mut self) {
        // Both fail only if it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until it ends, and returns its standard error.
    pub(super) fn wait(&mut self) -> Result<String, EmulatorError> {
        self.child.wait().map_err(EmulatorError::Read)?;
        let mut text = String::new();
        self.errors.rewind().map_err(EmulatorError::Read)?;
        self.errors.read_to_string(&mut text).map_err(EmulatorError::Read)?;
        Ok(text)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.end();
    }
}

/// The version of the emulator for `machine`, such as `7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)`.
///
/// # Errors
/// If it is not installed, or `--version` prints something else.
pub fn version(machine: Machine) -> Result<String, EmulatorError> {
    let output = Command::new(machine.emulator()).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|source| start_error(machine, source))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = text.lines().next().unwrap_or_default();
    match first.strip_prefix("QEMU emulator version ") {
        Some(version) => Ok(version.to_owned()),
        None => Err(EmulatorError::Start {
            program: machine.emulator(),
            source: io::Error::other(format!("--version printed '{first}'")),
        }),
    }
}

fn start_error(machine: Machine, source: io::Error) -> EmulatorError {
    let program = machine.emulator();
    match source.kind() {
        io::ErrorKind::NotFound => EmulatorError::Missing { program, package: machine.emulator_package() },
        _ => EmulatorError::Start { program, source },
    }
}
