//! The emulator as a process: started pinned, tied to its parent, never left behind.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use tardy_sys::{child, scheduling, thread_usage};
use thiserror::Error;

use super::Session;
use crate::machine::Machine;

/// Why there is no emulator.
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
    /// It does not start.
    #[error("{program} does not start: {source}")]
    Start {
        /// The program.
        program: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The host's CPU cannot be had.
    #[error("the emulator cannot be pinned to cpu {core}: {source}")]
    Pin {
        /// Which.
        core: u32,
        /// Why.
        source: io::Error,
    },
    /// Its output.
    #[error("the emulator cannot be heard: {0}")]
    Read(io::Error),
}

/// A running emulator. Dropping it ends it.
pub(super) struct Emulator {
    child: Child,
    output: ChildStdout,
    errors: File,
}

impl Emulator {
    /// Starts it. The calling thread is pinned first and stays so, since children inherit that from the beginning; and
    /// the emulator dies with this thread.
    pub(super) fn start(session: &Session<'_>) -> Result<Self, EmulatorError> {
        let program = session.machine.emulator();
        if let Some(core) = session.core {
            scheduling::set_affinity(&[core]).map_err(|source| EmulatorError::Pin { core, source })?;
        }
        let start = |source| EmulatorError::Start { program, source };
        let log = session.directory.join("emulator.log");
        let errors = File::options().create(true).truncate(true).read(true).write(true).open(&log);
        let errors = errors.map_err(start)?;
        let mut command = Command::new(program);
        command
            .args(session.words)
            .current_dir(session.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command.stderr(errors.try_clone().map_err(start)?);
        child::prepare(&mut command, &[]);
        let mut child = command.spawn().map_err(|source| not_there(session.machine, source))?;
        let output = child.stdout.take().expect("it is piped");
        Ok(Self { child, output, errors })
    }

    pub(super) fn output(&mut self) -> &mut ChildStdout {
        &mut self.output
    }

    /// CPU time used so far; `None` where the kernel does not say.
    pub(super) fn cpu_time(&self) -> Option<Duration> {
        thread_usage::of_process(self.child.id()).ok()
    }

    /// Ends it now.
    pub(super) fn end(&mut self) {
        // Both fail only where it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its end, and returns what it complained about.
    pub(super) fn wait(&mut self) -> Result<String, EmulatorError> {
        self.child.wait().map_err(EmulatorError::Read)?;
        let mut said = String::new();
        self.errors.rewind().map_err(EmulatorError::Read)?;
        self.errors.read_to_string(&mut said).map_err(EmulatorError::Read)?;
        Ok(said)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.end();
    }
}

/// The version that the emulator of `machine` says it has, such as `7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)`.
///
/// # Errors
/// When it is not installed or says something else.
pub fn version(machine: Machine) -> Result<String, EmulatorError> {
    let asked = Command::new(machine.emulator()).arg("--version").stdin(Stdio::null()).output();
    let said = asked.map_err(|source| not_there(machine, source))?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let first = text.lines().next().unwrap_or_default();
    match first.strip_prefix("QEMU emulator version ") {
        Some(version) => Ok(version.to_owned()),
        None => Err(EmulatorError::Start {
            program: machine.emulator(),
            source: io::Error::other(format!("asked for its version, it said '{first}'")),
        }),
    }
}

fn not_there(machine: Machine, source: io::Error) -> EmulatorError {
    let program = machine.emulator();
    match source.kind() {
        io::ErrorKind::NotFound => EmulatorError::Missing { program, package: machine.emulator_package() },
        _ => EmulatorError::Start { program, source },
    }
}
