//! The emulator's process. It is pinned and confined, and dies with its parent.

use std::fs::File;
use std::io::{self, PipeReader, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tardy_sys::files::Directory;
use tardy_sys::processes::ProcessState;
use tardy_sys::{child, scheduling, thread_usage};

use super::Session;
use super::emulator_error::EmulatorError;
use crate::machine::CONSOLE;

/// A running emulator. Dropping it kills the process.
pub(super) struct Emulator {
    child: Child,
    output: PipeReader,
    errors: File,
}

/// How an emulator ended.
pub(super) struct End {
    /// The signal that killed it.
    pub(super) signal: Option<i32>,
    /// What it wrote to its standard error.
    pub(super) errors: String,
}

impl Emulator {
    /// Starts the emulator. The calling thread is pinned first and stays pinned, because a child inherits the affinity
    /// from its first instruction. The emulator dies with this thread.
    pub(super) fn start(session: &Session<'_>) -> Result<Self, EmulatorError> {
        let program = session.machine.emulator();
        if let Some(core) = session.core {
            scheduling::set_affinity(&[core]).map_err(|source| EmulatorError::Pin { core, source })?;
        }
        Self::spawn(session).map_err(|source| EmulatorError::Start { program, source })
    }

    fn spawn(session: &Session<'_>) -> io::Result<Self> {
        let directory = Directory::named(session.directory)?;
        let errors = directory.unnamed_file()?;
        // A confined emulator cannot create it.
        directory.create_new(CONSOLE.as_ref(), 0o600)?;
        let (output, written) = io::pipe()?;
        let mut command = Command::new(&session.emulator.program);
        command
            .arg0(session.machine.emulator())
            .args(session.arguments)
            .current_dir(session.directory)
            .stdin(Stdio::null());
        child::prepare(&mut command, &[]);
        session.confinement.apply(&mut command, session, &written)?;
        let child = command.stdout(written).stderr(errors.try_clone()?).spawn()?;
        // The command holds the write end of the pipe, which must be the emulator's alone.
        drop(command);
        Ok(Self { child, output, errors })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn output(&mut self) -> &mut PipeReader {
        &mut self.output
    }

    /// The CPU time that it has used; `None` if the kernel does not report it.
    pub(super) fn cpu_time(&self) -> Option<Duration> {
        thread_usage::of_process(self.child.id()).ok()
    }

    /// Whether a signal has stopped it, as Ctrl-Z in a terminal and debuggers do.
    pub(super) fn is_stopped(&self) -> bool {
        ProcessState::of(self.child.id()).is_some_and(|state| state.is_stopped)
    }

    /// Kills the emulator.
    pub(super) fn end(&mut self) {
        // Both fail only if it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until it ends.
    pub(super) fn wait(&mut self) -> Result<End, EmulatorError> {
        let status = self.child.wait().map_err(EmulatorError::Read)?;
        let mut errors = Vec::new();
        self.errors.rewind().map_err(EmulatorError::Read)?;
        self.errors.read_to_end(&mut errors).map_err(EmulatorError::Read)?;
        // A guest that controls the emulator chooses these bytes.
        Ok(End { signal: status.signal(), errors: String::from_utf8_lossy(&errors).into_owned() })
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.end();
    }
}
