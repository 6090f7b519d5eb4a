//! One guest from its start to its end, as the host sees it.
//!
//! The emulator is pinned to one of the host's CPUs together with everything it starts: unpinned, its threads race
//! each other now and then, and two runs differ. It dies with the thread that started it, and its words are read from
//! its standard output until that closes.

mod emulator;
mod watchdog;

use std::io::Read;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::time::Duration;

use tardy_record::lab::Settled;
use tardy_sys::signals::wait_readable;
use thiserror::Error;

use crate::guest::words::{Heard, Hearing, HearingError, Word};
use crate::machine::{CONSOLE, Machine};

use emulator::Emulator;
pub use emulator::{EmulatorError, version};
use watchdog::{Stalled, Watchdog};

/// How often the watchdog looks.
const LOOK_NS: u64 = 500_000_000;
/// Lines of the console that an error quotes.
const CONSOLE_LINES: usize = 20;
/// How a panic begins (kernel/panic.c).
const PANIC: &str = "Kernel panic - not syncing";

/// A guest to be started: everything that it needs lies in a directory.
#[derive(Clone, Debug)]
pub struct Session<'a> {
    /// The machine.
    pub machine: Machine,
    /// What the emulator is told.
    pub words: &'a [String],
    /// Its working directory.
    pub directory: &'a Path,
    /// The host's CPU that it is pinned to; absent for the host's time, where it may use them all.
    pub core: Option<u32>,
    /// How long the emulator may work without a word from the guest.
    pub patience: Duration,
    /// Readable when a person wants an end.
    pub cancel: Option<RawFd>,
}

/// What came out of a guest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Brought {
    /// Files by name, as they came.
    pub files: Vec<(String, Vec<u8>)>,
    /// How the boot died down.
    pub settled: Settled,
    /// Exit status of the guest's last command.
    pub status: u8,
}

/// Why a guest did not come to its end.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The emulator.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The guest's words.
    #[error("{problem}.{console}")]
    Hearing {
        /// What was wrong with them.
        problem: HearingError,
        /// The console's last lines.
        console: String,
    },
    /// The guest itself says so.
    #[error("the guest gave up: {trouble}.{console}")]
    GaveUp {
        /// In its words.
        trouble: String,
        /// The console's last lines.
        console: String,
    },
    /// It ended without a word: a panic, or its first program died.
    #[error("{what}{console}")]
    Died {
        /// What the console tells.
        what: String,
        /// The console's last lines.
        console: String,
    },
    /// It hung.
    #[error("{stalled}; the guest was ended.{console}")]
    Hung {
        /// How that was noticed.
        stalled: Stalled,
        /// The console's last lines.
        console: String,
    },
    /// A person wanted an end.
    #[error("interrupted; the guest was ended")]
    Cancelled,
}

impl Session<'_> {
    /// Runs the guest to its end. `tell` gets what it says meanwhile.
    ///
    /// # Errors
    /// When it does not come to its end; the emulator is gone then, too.
    pub fn run(&self, tell: &mut dyn FnMut(&Word)) -> Result<Brought, SessionError> {
        let mut emulator = Emulator::start(self)?;
        let mut watchdog = Watchdog::new(self.patience);
        let mut hearing = Hearing::default();
        let mut brought = Brought::default();
        let mut end = None;
        let mut piece = vec![0; 1 << 16];
        loop {
            self.wait(&mut emulator, &mut watchdog)?;
            let length = emulator.output().read(&mut piece).map_err(EmulatorError::Read)?;
            if length == 0 {
                break;
            }
            let heard = hearing.take(&piece[..length]).map_err(|problem| self.hearing(problem))?;
            for one in heard {
                watchdog.heard();
                end = brought.take(one, tell).or(end);
            }
        }
        let said = emulator.wait()?;
        match end {
            Some((_, Some(trouble))) => Err(SessionError::GaveUp { trouble, console: self.console() }),
            Some((status, None)) => Ok(Brought { status, ..brought }),
            None => Err(self.died(&said)),
        }
    }

    /// Waits until there is something to read; ends the guest when it hangs or a person wants it.
    fn wait(&self, emulator: &mut Emulator, watchdog: &mut Watchdog) -> Result<(), SessionError> {
        loop {
            let mut fds = vec![emulator.output().as_raw_fd()];
            fds.extend(self.cancel);
            let ready = wait_readable(&fds, LOOK_NS).map_err(EmulatorError::Read)?;
            if ready.get(1) == Some(&true) {
                emulator.end();
                return Err(SessionError::Cancelled);
            }
            if ready[0] {
                return Ok(());
            }
            if let Err(stalled) = watchdog.look(emulator.cpu_time()) {
                emulator.end();
                return Err(SessionError::Hung { stalled, console: self.console() });
            }
        }
    }

    fn hearing(&self, problem: HearingError) -> SessionError {
        SessionError::Hearing { problem, console: self.console() }
    }

    fn died(&self, emulator_said: &str) -> SessionError {
        let console = self.console();
        let what = if !emulator_said.trim().is_empty() {
            format!("{} ended before its time: {}.", self.machine.emulator(), emulator_said.trim())
        } else if console.contains(PANIC) {
            "the guest's kernel panicked.".to_owned()
        } else {
            "the guest ended without a word.".to_owned()
        };
        SessionError::Died { what, console }
    }

    /// The console's last lines, for an error to end with.
    fn console(&self) -> String {
        let bytes = std::fs::read(self.directory.join(CONSOLE)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return " Its console is empty: the image is for another machine, or there is too little memory for it \
                    (--memory)"
                .to_owned();
        }
        // The reason of a panic stands above its call trace, which may be longer than what is quoted.
        match lines.iter().position(|line| line.contains(PANIC)) {
            Some(panic) => {
                let from_there = &lines[panic..lines.len().min(panic + CONSOLE_LINES)];
                format!(" Its console from there on:\n    {}", from_there.join("\n    "))
            }
            None => {
                let last = &lines[lines.len().saturating_sub(CONSOLE_LINES)..];
                format!(" The console's last lines:\n    {}", last.join("\n    "))
            }
        }
    }
}

impl Brought {
    /// Takes what was heard; returns the end, if that was it.
    fn take(&mut self, heard: Heard, tell: &mut dyn FnMut(&Word)) -> Option<(u8, Option<String>)> {
        match heard {
            Heard::File { name, content } => self.files.push((name, content)),
            Heard::Word(Word::End { status, trouble }) => return Some((status, trouble)),
            Heard::Word(word) => {
                tell(&word);
                if let Word::Settled(settled) = word {
                    self.settled = settled;
                }
            }
        }
        None
    }
}
