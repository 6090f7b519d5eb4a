//! Giving pins back, whatever becomes of tardy. The kernel does not: an output that nobody has any more may
//! revert to an input, and mostly stays what it was (Documentation/userspace-api/gpio/gpio-v2-get-line-ioctl.rst); and what
//! sysfs has exported stays exported.
//!
//! A process of its own waits at the end of a pipe that the house holds. When the house dies, even by `kill -9`, the pipe
//! closes; the probe dies with the house, its claims go, and the guard gives the pins back. The journal is for the
//! case that the guard was killed too.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use tardy_host::journal::{Entry, Place, Undo};
use tardy_sys::child;
use tardy_sys::kernel_files::KernelFiles;

use super::HeldPin;

/// The hidden command of a guard.
const SUBCOMMAND: &str = "__pins";
/// The probe may need this long to die and let go of its lines.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a pin is tried meanwhile.
const PAUSE: Duration = Duration::from_millis(10);
/// What a house that has put everything back itself says to the guard.
const ALL_DONE: &[u8] = b"done";

/// Holds pins that are about to be used. Dropping it gives them back.
#[derive(Debug)]
pub struct PinGuard {
    held: Vec<(HeldPin, Entry)>,
    process: Child,
    order: Option<ChildStdin>,
}

impl PinGuard {
    /// Watches over `pins`, with a process of the program `exe`, which is tardy.
    ///
    /// # Errors
    /// In words, if they cannot be noted or watched: then they must not be used.
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
        let started = Command::new(exe)
            .args([SUBCOMMAND, &serde_json::to_string(pins).unwrap_or_default()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn();
        match started {
            Ok(mut process) => {
                let order = process.stdin.take();
                Ok(Self { held, process, order })
            }
            Err(error) => {
                held.into_iter().for_each(|(_, entry)| entry.strike());
                Err(format!("nobody could watch over the pins: {error}"))
            }
        }
    }

    /// Gives the pins back and ends the watch. To be called once the probe has let go of them.
    ///
    /// # Errors
    /// In words, if one could not be: it stays in the journal.
    pub fn release(mut self) -> Result<(), String> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<(), String> {
        let Some(mut order) = self.order.take() else { return Ok(()) };
        let mut troubles = Vec::new();
        for (pin, entry) in self.held.drain(..) {
            match patiently(&pin) {
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
        let _ = self.give_back();
    }
}

/// Gives a pin back as soon as it can be had.
fn patiently(pin: &HeldPin) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    loop {
        match pin.undo(&KernelFiles::real()) {
            Err(_) if Instant::now() < until => std::thread::sleep(PAUSE),
            outcome => return outcome.map(drop),
        }
    }
}

/// The guard's process: `tardy __pins PINS`, which are settings as JSON.
pub fn main(pins: &str) -> ExitCode {
    // A terminal's Ctrl-C, or a kill of the group, is the house's affair.
    let _ = child::own_session();
    let _ = tardy_sys::signals::ignore_end_signals();
    let mut told = Vec::new();
    if io::stdin().read_to_end(&mut told).is_ok() && told == ALL_DONE {
        return ExitCode::SUCCESS;
    }
    let pins: Vec<HeldPin> = match serde_json::from_str(pins) {
        Ok(pins) => pins,
        Err(error) => {
            eprintln!("tardy: the pins were not understood: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut status = ExitCode::SUCCESS;
    for pin in &pins {
        if let Err(error) = patiently(pin) {
            eprintln!("tardy: {} may not be as it was: {error}; run `tardy restore`", pin.describe());
            status = ExitCode::FAILURE;
        }
    }
    status
}
