//! Giving an output back as an input, whatever becomes of tardy. The kernel does not: a line that nobody has any more may
//! revert, and mostly stays what it was (Documentation/userspace-api/gpio/gpio-v2-get-line-ioctl.rst).
//!
//! A process of its own waits at the end of a pipe that the house holds. When the house dies, even by `kill -9`, the pipe
//! closes; the probe dies with the house, its claim goes, and the guard makes the line an input. The journal is for the
//! case that the guard was killed too.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use tardy_record::pins::Line;
use tardy_sys::child;

use super::chips;
use super::claim::to_input;
use crate::journal::{Entry, Place, Setting};

/// The hidden command of a guard.
const SUBCOMMAND: &str = "__pins";
/// The probe may need this long to die and let go of the line.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the line is tried meanwhile.
const PAUSE: Duration = Duration::from_millis(10);
/// What a house that has put the line back itself says to the guard.
const ALL_DONE: &[u8] = b"done";

/// Holds a line that is about to become an output. Dropping it makes the line an input.
#[derive(Debug)]
pub struct PinGuard {
    line: Line,
    process: Child,
    order: Option<ChildStdin>,
    entry: Option<Entry>,
}

impl PinGuard {
    /// Watches over `line`, with a process of the program `exe`, which is tardy.
    ///
    /// # Errors
    /// In words, if it cannot be noted or watched: then the line must not be driven.
    pub fn watch(exe: &Path, line: &Line) -> Result<Self, String> {
        let entry = Place::own().note(&Setting::Pin { line: line.clone() })?;
        let started = Command::new(exe)
            .args([SUBCOMMAND, &line.chip, &line.offset.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn();
        match started {
            Ok(mut process) => {
                let order = process.stdin.take();
                Ok(Self { line: line.clone(), process, order, entry: Some(entry) })
            }
            Err(error) => {
                entry.strike();
                Err(format!("nobody could watch over {}: {error}", line.place()))
            }
        }
    }

    /// Makes the line an input and ends the watch. To be called once the probe has let go of it.
    ///
    /// # Errors
    /// In words, if the line is still an output: it stays in the journal.
    pub fn release(mut self) -> Result<(), String> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<(), String> {
        let Some(mut order) = self.order.take() else { return Ok(()) };
        let outcome = patiently(&self.line);
        if outcome.is_ok() {
            let _ = order.write_all(ALL_DONE);
            if let Some(entry) = self.entry.take() {
                entry.strike();
            }
        }
        drop(order);
        let _ = self.process.wait();
        outcome
    }
}

impl Drop for PinGuard {
    fn drop(&mut self) {
        let _ = self.give_back();
    }
}

/// Makes the line of a journal's entry an input: nothing where it is one, or where its chip is gone.
///
/// # Errors
/// In words: it is no line of the chip that the entry names, or somebody else drives it now.
pub fn put_back(line: &Line) -> Result<(), String> {
    let Some(chip) = chips::all()?.into_iter().find(|chip| chip.name == line.chip) else { return Ok(()) };
    if let Some(trouble) = chip.trouble {
        return Err(trouble);
    }
    if chip.label != line.label {
        return Err(format!(
            "{} is another chip by now: '{}', and it was '{}'",
            line.chip, chip.label, line.label
        ));
    }
    match chip.lines.iter().find(|state| state.offset == line.offset) {
        Some(state) if state.output && state.used => {
            Err(format!("{} is an output of '{}' now", line.place(), state.consumer))
        }
        Some(state) if state.output => to_input(line),
        _ => Ok(()),
    }
}

/// Makes `line` an input as soon as it can be had.
fn patiently(line: &Line) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    loop {
        match to_input(line) {
            Err(_) if Instant::now() < until => std::thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
}

/// The guard's process: `tardy __pins CHIP OFFSET`.
pub fn main(chip: &str, offset: u32) -> ExitCode {
    // A terminal's Ctrl-C, or a kill of the group, is the house's affair.
    let _ = child::own_session();
    let _ = tardy_sys::signals::ignore_end_signals();
    let mut told = Vec::new();
    if io::stdin().read_to_end(&mut told).is_ok() && told == ALL_DONE {
        return ExitCode::SUCCESS;
    }
    let line = Line { chip: chip.to_owned(), label: String::new(), offset, name: None };
    match patiently(&line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tardy: {} may still be an output: {error}; run `tardy restore`", line.place());
            ExitCode::FAILURE
        }
    }
}
