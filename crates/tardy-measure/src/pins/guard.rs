//! Restores pins even if tardy is killed. The kernel does not restore them: an output that no process holds may revert
//! to an input, but usually stays an output (Documentation/userspace-api/gpio/gpio-v2-get-line-ioctl.rst); a line that
//! was exported through sysfs stays exported.
//!
//! The guard is a process that reads from a pipe whose other end the supervisor holds. When the supervisor dies, even
//! by `kill -9`, the pipe closes; the probe dies with the supervisor and releases its lines, and the guard restores
//! them. If the guard was killed too, `tardy restore` uses the journal.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use tardy_host::journal::{Entry, Place, Undo};
use tardy_sys::child;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::privileges::capabilities::{Ambient, keep_only};

use super::HeldPin;

/// The hidden command of a guard.
const SUBCOMMAND: &str = "__pins";
/// How long the probe may take to die and release its lines.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two attempts to restore a pin.
const PAUSE: Duration = Duration::from_millis(10);
/// The supervisor's message to the guard after it has restored everything itself.
const ALL_DONE: &[u8] = b"done";

/// Guards pins that are about to be used. Dropping it restores them.
#[derive(Debug)]
pub struct PinGuard {
    held: Vec<(HeldPin, Entry)>,
    process: Child,
    order: Option<ChildStdin>,
}

impl PinGuard {
    /// Guards `pins` by a process of the program `exe`, which is tardy.
    ///
    /// # Errors
    /// A message for the user, if the pins cannot be recorded or guarded. They must not be used then.
    pub fn watch(exe: &Path, pins: &[HeldPin]) -> Result<Self, String> {
        let mut held: Vec<(HeldPin, Entry)> = Vec::new();
        for pin in pins {
            match Place::own().note(pin) {
                Ok(entry) => held.push((pin.clone(), entry)),
                Err(reason) => {
                    held.into_iter().for_each(|(_, entry)| entry.strike());
                    return Err(reason);
                }
            }
        }
        let mut command = Command::new(exe);
        command
            .args([SUBCOMMAND, &serde_json::to_string(pins).unwrap_or_default()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0);
        keep_only(&mut command, &[], Ambient::UnlessGained);
        match command.spawn() {
            Ok(mut process) => {
                let order = process.stdin.take();
                Ok(Self { held, process, order })
            }
            Err(error) => {
                held.into_iter().for_each(|(_, entry)| entry.strike());
                Err(format!("the guard of the pins cannot be started: {error}"))
            }
        }
    }

    /// Restores the pins and ends the guard. Call it after the probe has released them.
    ///
    /// # Errors
    /// A message for the user, if a pin could not be restored. It stays in the journal.
    pub fn release(mut self) -> Result<(), String> {
        self.restore()
    }

    fn restore(&mut self) -> Result<(), String> {
        let Some(mut order) = self.order.take() else { return Ok(()) };
        let mut troubles = Vec::new();
        for (pin, entry) in self.held.drain(..) {
            match restore_when_free(&pin) {
                Ok(()) => entry.strike(),
                Err(trouble) => troubles.push(trouble),
            }
        }
        if troubles.is_empty() {
            let _ = order.write_all(ALL_DONE);
        }
        drop(order);
        let _ = self.process.wait();
        if troubles.is_empty() { Ok(()) } else { Err(troubles.join("; ")) }
    }
}

impl Drop for PinGuard {
    fn drop(&mut self) {
        let _ = self.restore();
    }
}

/// Restores a pin as soon as it is free.
fn restore_when_free(pin: &HeldPin) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    loop {
        match pin.undo(&KernelFiles::real()) {
            Err(_) if Instant::now() < until => std::thread::sleep(PAUSE),
            outcome => return outcome.map(drop),
        }
    }
}

/// The guard's process: `tardy __pins PINS`, where PINS is the list of pins as JSON.
pub fn main(pins: &str) -> ExitCode {
    // A terminal's Ctrl-C, or a kill of the group, must reach only the supervisor.
    let _ = child::own_session();
    let _ = tardy_sys::signals::ignore_end_signals();
    let mut message = Vec::new();
    if io::stdin().read_to_end(&mut message).is_ok() && message == ALL_DONE {
        return ExitCode::SUCCESS;
    }
    let pins: Vec<HeldPin> = match serde_json::from_str(pins) {
        Ok(pins) => pins,
        Err(error) => {
            eprintln!("tardy: the list of pins is invalid: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut status = ExitCode::SUCCESS;
    for pin in &pins {
        if let Err(error) = restore_when_free(pin) {
            eprintln!("tardy: {} may not be restored: {error}; run `tardy restore`", pin.describe());
            status = ExitCode::FAILURE;
        }
    }
    status
}
