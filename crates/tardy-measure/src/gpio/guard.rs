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

use tardy_record::pins::{AnswerBy, Line, ReactionPlan, StimulusPlan, StimulusSource};
use tardy_record::plan::ProbePlan;
use tardy_record::wiggle::{Pace, Through, WigglePlan};
use tardy_sys::child;
use tardy_sys::kernel_files::KernelFiles;

use super::claim::to_input;
use super::{chips, pwm, sysfs};
use crate::journal::{Entry, Place, Setting, Undone};

/// The hidden command of a guard.
const SUBCOMMAND: &str = "__pins";
/// The probe may need this long to die and let go of its lines.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a pin is tried meanwhile.
const PAUSE: Duration = Duration::from_millis(10);
/// What a house that has put everything back itself says to the guard.
const ALL_DONE: &[u8] = b"done";

/// What a probe changes about pins.
///
/// # Errors
/// In words, if a line is to be had in sysfs and is not there.
pub fn held_by(probe: &ProbePlan, files: &KernelFiles) -> Result<Vec<Setting>, String> {
    match probe {
        ProbePlan::Reaction(reaction) => held_by_reaction(reaction, files),
        ProbePlan::Wiggle(wiggle) => held_by_wiggle(wiggle, files),
        _ => Ok(Vec::new()),
    }
}

fn held_by_wiggle(wiggle: &WigglePlan, files: &KernelFiles) -> Result<Vec<Setting>, String> {
    let line = wiggle.output.clone();
    Ok(vec![match (&wiggle.pace, wiggle.through) {
        (Pace::Command { .. }, _) | (_, Through::Chardev | Through::Gpiomem) => Setting::Pin { line },
        (_, Through::Sysfs) => Setting::ExportedPin { number: sysfs::number(files, &line)?, line },
    }])
}

fn held_by_reaction(reaction: &ReactionPlan, files: &KernelFiles) -> Result<Vec<Setting>, String> {
    let mut held = Vec::new();
    match reaction.answer_by {
        AnswerBy::Sysfs => {
            for line in [&reaction.input, &reaction.output] {
                held.push(Setting::ExportedPin { line: line.clone(), number: sysfs::number(files, line)? });
            }
        }
        AnswerBy::Events | AnswerBy::Busy => held.push(Setting::Pin { line: reaction.output.clone() }),
    }
    match reaction.stimulus.as_deref() {
        Some(StimulusPlan { source: StimulusSource::Line { line, .. }, .. }) => {
            held.push(Setting::Pin { line: line.clone() });
        }
        Some(StimulusPlan { source: StimulusSource::Pwm { chip, channel }, .. }) => {
            pwm::find(files, chip, *channel)?;
            held.push(Setting::Pwm { chip: chip.clone(), channel: *channel });
        }
        None => {}
    }
    Ok(held)
}

/// Holds pins that are about to be used. Dropping it gives them back.
#[derive(Debug)]
pub struct PinGuard {
    held: Vec<(Setting, Entry)>,
    process: Child,
    order: Option<ChildStdin>,
}

impl PinGuard {
    /// Watches over `pins`, with a process of the program `exe`, which is tardy.
    ///
    /// # Errors
    /// In words, if they cannot be noted or watched: then they must not be used.
    pub fn watch(exe: &Path, pins: &[Setting]) -> Result<Self, String> {
        let mut held: Vec<(Setting, Entry)> = Vec::new();
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

/// Makes the line of a journal's entry an input: nothing where it is one, or where its chip is gone.
///
/// # Errors
/// In words: it is no line of the chip that the entry names, or somebody else drives it now.
pub fn put_back(line: &Line) -> Result<(), String> {
    let Some(chip) = the_chip_of(line)? else { return Ok(()) };
    match chip.lines.iter().find(|state| state.offset == line.offset) {
        Some(state) if state.output && state.used => {
            Err(format!("{} is an output of '{}' now", line.place(), state.consumer))
        }
        Some(state) if state.output => to_input(line),
        _ => Ok(()),
    }
}

/// Makes the line of a journal's entry, which tardy exported as `number`, an input that is not exported.
///
/// # Errors
/// In words.
pub fn unexport(line: &Line, number: u32, files: &KernelFiles) -> Result<Undone, String> {
    if the_chip_of(line)?.is_none() || sysfs::number(files, line)? != number {
        return Ok(Undone::WasSo);
    }
    sysfs::give_back(files, number, line).map(done)
}

/// Ends the wave of a journal's entry.
///
/// # Errors
/// In words.
pub fn stop_pwm(chip: &str, channel: u32, files: &KernelFiles) -> Result<Undone, String> {
    // A journal that somebody else wrote must not lead anywhere else.
    if pwm::parse(&format!("{chip}:{channel}")).is_none() {
        return Err(format!("'{chip}' is no PWM controller"));
    }
    pwm::stop(files, chip, channel).map(done)
}

fn done(anything: bool) -> Undone {
    if anything { Undone::Done } else { Undone::WasSo }
}

/// The chip that a journal's entry names, if it is there.
fn the_chip_of(line: &Line) -> Result<Option<chips::ChipState>, String> {
    let Some(chip) = chips::all()?.into_iter().find(|chip| chip.name == line.chip) else { return Ok(None) };
    if let Some(trouble) = chip.trouble {
        return Err(trouble);
    }
    if chip.label != line.label {
        return Err(format!(
            "{} is another chip by now: '{}', and it was '{}'",
            line.chip, chip.label, line.label
        ));
    }
    Ok(Some(chip))
}

/// Gives a pin back as soon as it can be had.
fn patiently(pin: &Setting) -> Result<(), String> {
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
    let pins: Vec<Setting> = match serde_json::from_str(pins) {
        Ok(pins) => pins,
        Err(error) => {
            eprintln!("tardy: the pins were not understood: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut status = ExitCode::SUCCESS;
    for pin in &pins {
        if let Err(error) = patiently(pin) {
            eprintln!("tardy: {} may not be as it was: {error}; run `tardy restore`", pin.in_words());
            status = ExitCode::FAILURE;
        }
    }
    status
}
