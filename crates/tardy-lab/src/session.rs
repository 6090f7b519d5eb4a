//! Runs one guest on the host, from the start of the emulator to its end.
//!
//! The emulator is pinned to one CPU, because otherwise its threads race each other and two runs can differ. It is
//! confined, because what runs in the guest may be hostile. It dies with the thread that started it. The guest's messages
//! are read from its standard output until that closes.

mod confinement;
mod denied;
mod emulator;
mod emulator_error;
mod installed;
mod watchdog;

use std::io::Read;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::time::{Duration, Instant};

use tardy_init::messages::{DecodeError, Decoder, Message, Received};
use tardy_record::lab::Settled;
use tardy_sys::child::signal;
use tardy_sys::signals::wait_readable;
use thiserror::Error;

use crate::machine::{CONSOLE, Machine, Pace};
use crate::observer::Observer;

pub use self::confinement::Confinement;
use self::confinement::FILE_BYTES_MAX;
use emulator::{Emulator, End};
pub use emulator_error::{EmulatorError, Unconfinable};
pub use installed::{Installed, installed};
use watchdog::{Stalled, Watchdog};

/// The time between two checks of the watchdog.
const WATCHDOG_INTERVAL_NS: u64 = 500_000_000;
/// The maximum number of console lines that an error quotes.
const CONSOLE_LINES: usize = 20;
/// The longest line that an error quotes, in characters.
const QUOTED_CHARACTERS: usize = 400;
/// The most that a guest may send in files, in bytes: they are kept in memory.
const RESULTS_BYTES_MAX: u64 = 1 << 30;
/// What the kernel prints of a fault (arch/x86/mm/fault.c, arch/x86/kernel/dumpstack.c).
const FAULTS: [&str; 4] = ["BUG: ", "Oops: ", "RIP: ", "general protection fault"];
/// The beginning of a panic's message (kernel/panic.c).
const PANIC: &str = "Kernel panic - not syncing";

/// A guest to be started. All its files are in one directory.
#[derive(Clone, Debug)]
pub struct Session<'a> {
    /// The machine.
    pub machine: Machine,
    /// The emulator.
    pub emulator: &'a Installed,
    /// How it is confined.
    pub confinement: &'a Confinement,
    /// The emulator's arguments, without those that confine it.
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
    /// What the emulator loads to watch the guest. Its files are in the directory.
    pub observer: Option<&'a Observer>,
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
    /// The memory that the files take.
    bytes: u64,
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
    /// The guest sent too much.
    #[error("the guest sent files of more than {} MiB; it was ended", RESULTS_BYTES_MAX >> 20)]
    TooMuch,
    /// The emulator was killed by its sandbox.
    #[error("the guest made the emulator try to {attempt}; the emulator was killed.{console}")]
    Denied {
        /// What was tried.
        attempt: String,
        /// The console's last lines.
        console: String,
    },
    /// The emulator was killed because a file became too long.
    #[error("the guest wrote more than {} MiB to its console; it was ended.{console}", FILE_BYTES_MAX >> 20)]
    ConsoleTooLong {
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

/// How this machine confines the emulator for a guest.
///
/// # Errors
/// If the emulator is not installed, or cannot be confined and `unconfined` is false.
pub fn confinement(machine: Machine, pace: Pace, unconfined: bool) -> Result<Confinement, EmulatorError> {
    let emulator = installed(machine)?;
    match unconfined {
        true => Ok(Confinement::Unconfined),
        false => Ok(Confinement::find(&emulator, pace)?),
    }
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
                end = results.take(one, on_message)?.or(end);
            }
        }
        let ended = emulator.wait()?;
        if let Some(error) = self.killed(&ended, emulator.pid()) {
            return Err(error);
        }
        match end {
            Some((_, Some(error))) => Err(SessionError::Failed { error, console: self.console() }),
            Some((status, None)) => Ok(GuestResults { status, ..results }),
            None => Err(self.died(&ended.errors)),
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
            let now = Instant::now();
            if emulator.is_stopped() {
                watchdog.stopped(now);
            }
            if let Err(stalled) = watchdog.check(emulator.cpu_time(), now) {
                emulator.end();
                return Err(SessionError::Hung { stalled, console: self.console() });
            }
        }
    }

    fn decode_error(&self, error: DecodeError) -> SessionError {
        SessionError::Decode { error, console: self.console() }
    }

    /// The error if the kernel killed the emulator `pid` because of what its guest did.
    fn killed(&self, ended: &End, pid: u32) -> Option<SessionError> {
        match ended.signal? {
            signal::BAD_SYSTEM_CALL => {
                Some(SessionError::Denied { attempt: denied::system_call(pid), console: self.console() })
            }
            signal::FILE_TOO_LONG => Some(SessionError::ConsoleTooLong { console: self.console() }),
            _ => None,
        }
    }

    fn died(&self, emulator_errors: &str) -> SessionError {
        let console = self.console();
        let errors: Vec<String> = emulator_errors.lines().map(quoted).collect();
        let what = if !errors.is_empty() {
            let last = errors[errors.len().saturating_sub(CONSOLE_LINES)..].join("\n");
            format!("{} ended early: {last}.", self.machine.emulator())
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
        let lines: Vec<String> = text.lines().map(quoted).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return " Its console is empty: the image is for another machine, or the guest has too little memory \
                    (--memory)"
                .to_owned();
        }
        // The reason for a panic precedes its call trace, which may be longer than the quoted part.
        match lines.iter().position(|line| line.contains(PANIC)) {
            Some(panic) => {
                // A fault in the kernel states itself, and where it was, long before the panic that it ends with.
                let of_fault =
                    lines[..panic].iter().filter(|line| FAULTS.iter().any(|fault| line.contains(fault)));
                let from_there = &lines[panic..lines.len().min(panic + CONSOLE_LINES)];
                let quoted: Vec<&str> = of_fault.chain(from_there).map(String::as_str).collect();
                format!(" Its console from the panic on:\n    {}", quoted.join("\n    "))
            }
            None => {
                let last = &lines[lines.len().saturating_sub(CONSOLE_LINES)..];
                format!(" The last lines of its console:\n    {}", last.join("\n    "))
            }
        }
    }
}

/// A line for an error.
fn quoted(line: &str) -> String {
    line.trim_end().chars().take(QUOTED_CHARACTERS).collect()
}

impl GuestResults {
    /// Adds a file or a message. Returns the status and the error of the last message.
    ///
    /// # Errors
    /// If the files are too long together.
    fn take(
        &mut self,
        received: Received,
        on_message: &mut dyn FnMut(&Message),
    ) -> Result<Option<(u8, Option<String>)>, SessionError> {
        match received {
            Received::File { name, content } => {
                // An empty file takes memory too.
                self.bytes += (content.len() + name.len() + size_of::<(String, Vec<u8>)>()) as u64;
                if self.bytes > RESULTS_BYTES_MAX {
                    return Err(SessionError::TooMuch);
                }
                self.files.push((name, content));
            }
            Received::Message(Message::End { status, error }) => return Ok(Some((status, error))),
            Received::Message(message) => {
                on_message(&message);
                if let Message::Idle(settled) = message {
                    self.settled = settled;
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_guest_have_a_limit_together() {
        let mut results = GuestResults { bytes: RESULTS_BYTES_MAX - 100, ..GuestResults::default() };
        let mut take = |bytes| {
            let file = Received::File { name: "a".to_owned(), content: vec![0; bytes] };
            results.take(file, &mut |_: &Message| {})
        };
        assert!(matches!(take(10), Ok(None)));
        assert!(matches!(take(100), Err(SessionError::TooMuch)));
    }
}
