//! Runs one guest on the host, from the start of the emulator to its end.
//!
//! The emulator is pinned to one CPU, because otherwise its threads race each other and two runs can differ. It dies
//! with the thread that started it. The guest's messages are read from its standard output until that closes.

mod emulator;
mod watchdog;

use std::io::Read;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::time::Duration;

use tardy_init::messages::{DecodeError, Decoder, Message, Received};
use tardy_record::lab::Settled;
use tardy_sys::signals::wait_readable;
use thiserror::Error;

use crate::machine::{CONSOLE, Machine};

use emulator::Emulator;
pub use emulator::{EmulatorError, version};
use watchdog::{Stalled, Watchdog};

/// The time between two checks of the watchdog.
const WATCHDOG_INTERVAL_NS: u64 = 500_000_000;
/// The maximum number of console lines that an error quotes.
const CONSOLE_LINES: usize = 20;
/// The beginning of a panic's message (kernel/panic.c).
const PANIC: &str = "Kernel panic - not syncing";

/// A guest to be started. All its files are in one directory.
#[derive(Clone, Debug)]
pub struct Session<'a> {
    /// The machine.
    pub machine: Machine,
    /// The emulator's arguments.
    pub arguments: &'a [String],
    /// The emulator's working directory.
    pub directory: &'a Path,
    /// The host CPU to which the emulator is pinned; `None` for guests in the host's time, whose emulator may use all
    /// CPUs.
    pub core: Option<u32>,
    /// The CPU time that the emulator may use between two messages of the guest.
    pub patience: Duration,
    /// A file descriptor that becomes readable when the user asks tardy to stop.
    pub cancel: Option<RawFd>,
}

/// The results of a guest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GuestResults {
    /// Files and their names, in the order of arrival.
    pub files: Vec<(String, Vec<u8>)>,
    /// How busy the CPUs were until they were idle after the boot.
    pub settled: Settled,
    /// The exit status of the guest's last command.
    pub status: u8,
}

/// Why a guest did not shut down properly.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The emulator failed.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The guest's output cannot be decoded.
    #[error("{error}.{console}")]
    Decode {
        /// The error.
        error: DecodeError,
        /// The console's last lines.
        console: String,
    },
    /// The guest reported an error.
    #[error("the guest failed: {error}.{console}")]
    Failed {
        /// The guest's message.
        error: String,
        /// The console's last lines.
        console: String,
    },
    /// The guest ended without a message: its kernel panicked or its first program died.
    #[error("{what}{console}")]
    Died {
        /// The outcome, derived from the emulator's errors and the console.
        what: String,
        /// The console's last lines.
        console: String,
    },
    /// The guest hung.
    #[error("{stalled}; the guest was ended.{console}")]
    Hung {
        /// How the hang was noticed.
        stalled: Stalled,
        /// The console's last lines.
        console: String,
    },
    /// The user asked tardy to stop.
    #[error("interrupted; the guest was ended")]
    Cancelled,
}

impl Session<'_> {
    /// Runs the guest to its end and calls `on_message` with its messages.
    ///
    /// # Errors
    /// If the guest does not shut down properly. The emulator has ended in any case.
    pub fn run(&self, on_message: &mut dyn FnMut(&Message)) -> Result<GuestResults, SessionError> {
        let mut emulator = Emulator::start(self)?;
        let mut watchdog = Watchdog::new(self.patience);
        let mut decoder = Decoder::default();
        let mut results = GuestResults::default();
        let mut end = None;
        let mut piece = vec![0; 1 << 16];
        loop {
            self.wait(&mut emulator, &mut watchdog)?;
            let length = emulator.output().read(&mut piece).map_err(EmulatorError::Read)?;
            if length == 0 {
                break;
            }
            let received = decoder.decode(&piece[..length]).map_err(|error| self.decode_error(error))?;
            for one in received {
                watchdog.message_received();
                end = results.take(one, on_message).or(end);
            }
        }
        let emulator_errors = emulator.wait()?;
        match end {
            Some((_, Some(error))) => Err(SessionError::Failed { error, console: self.console() }),
            Some((status, None)) => Ok(GuestResults { status, ..results }),
            None => Err(self.died(&emulator_errors)),
        }
    }

    /// Waits for output. Ends the guest if it hangs or the user asks tardy to stop.
    fn wait(&self, emulator: &mut Emulator, watchdog: &mut Watchdog) -> Result<(), SessionError> {
        loop {
            let mut fds = vec![emulator.output().as_raw_fd()];
            fds.extend(self.cancel);
            let ready = wait_readable(&fds, WATCHDOG_INTERVAL_NS).map_err(EmulatorError::Read)?;
            if ready.get(1) == Some(&true) {
                emulator.end();
                return Err(SessionError::Cancelled);
            }
            if ready[0] {
                return Ok(());
            }
            if let Err(stalled) = watchdog.check(emulator.cpu_time()) {
                emulator.end();
                return Err(SessionError::Hung { stalled, console: self.console() });
            }
        }
    }

    fn decode_error(&self, error: DecodeError) -> SessionError {
        SessionError::Decode { error, console: self.console() }
    }

    fn died(&self, emulator_errors: &str) -> SessionError {
        let console = self.console();
        let what = if !emulator_errors.trim().is_empty() {
            format!("{} ended early: {}.", self.machine.emulator(), emulator_errors.trim())
        } else if console.contains(PANIC) {
            "the guest's kernel panicked.".to_owned()
        } else {
            "the guest ended without a message.".to_owned()
        };
        SessionError::Died { what, console }
    }

    /// The console's last lines, as the end of an error message.
    fn console(&self) -> String {
        let bytes = std::fs::read(self.directory.join(CONSOLE)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return " Its console is empty: the image is for another machine, or the guest has too little memory \
                    (--memory)"
                .to_owned();
        }
        // The reason for a panic precedes its call trace, which may be longer than the quoted part.
        match lines.iter().position(|line| line.contains(PANIC)) {
            Some(panic) => {
                let from_there = &lines[panic..lines.len().min(panic + CONSOLE_LINES)];
                format!(" Its console from the panic on:\n    {}", from_there.join("\n    "))
            }
            None => {
                let last = &lines[lines.len().saturating_sub(CONSOLE_LINES)..];
                format!(" The last lines of its console:\n    {}", last.join("\n    "))
            }
        }
    }
}

impl GuestResults {
    /// Adds a file or a message. Returns the status and the error of the last message.
    fn take(
        &mut self,
        received: Received,
        on_message: &mut dyn FnMut(&Message),
    ) -> Option<(u8, Option<String>)> {
        match received {
            Received::File { name, content } => self.files.push((name, content)),
            Received::Message(Message::End { status, error }) => return Some((status, error)),
            Received::Message(message) => {
                on_message(&message);
                if let Message::Idle(settled) = message {
                    self.settled = settled;
                }
            }
        }
        None
    }
}
