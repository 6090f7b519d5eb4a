//! A program that tardy starts to watch it.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tardy_sys::child::{self, signal};
use tardy_sys::programs;
use tardy_sys::signals::EndSignals;

/// The environment variable with the file in which the program may write its marks.
pub const MARKER: &str = "TARDY_TRACE_MARKER";

/// How long a program that was asked to end may take. Then it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(20);

/// A program that was started.
#[derive(Debug)]
pub struct Program {
    child: Child,
}

impl Program {
    /// Starts the program with its arguments, which is found as the user's shell finds it. It may write marks to `marker`, if there is one.
    /// It does not inherit that tardy catches `signals`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        program: &str,
        arguments: &[String],
        marker: Option<&Path>,
        signals: &EndSignals,
    ) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.env("PATH", programs::path_of_user()).args(arguments);
        command.envs(marker.map(|marker| (MARKER, marker)));
        signals.unblock_in(&mut command);
        let child = command.spawn().map_err(|error| format!("{program} cannot be started: {error}"))?;
        Ok(Self { child })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to end if it still runs, kills it if it has not ended after 5 s, and waits for it. Returns how it ended, for the user;
    /// `None` if it succeeded or ended because it was asked.
    ///
    /// # Errors
    /// If it cannot be asked.
    pub fn end(&mut self) -> Result<Option<String>, String> {
        let was_asked = !self.has_ended();
        if was_asked {
            child::send(self.pid(), signal::TERMINATE).map_err(|error| error.to_string())?;
        }
        let asked = Instant::now();
        while !self.has_ended() {
            if asked.elapsed() >= GRACE {
                self.child.kill().map_err(|error| error.to_string())?;
                self.child.wait().map_err(|error| error.to_string())?;
                return Ok(Some(
                    "the program did not end when it was asked to (SIGTERM), and was killed".to_owned(),
                ));
            }
            std::thread::sleep(LOOK);
        }
        let status = self.child.wait().map_err(|error| error.to_string())?;
        Ok(match (status.code(), status.signal()) {
            (Some(0), _) | (None, None) => None,
            (_, Some(number)) if was_asked && number == signal::TERMINATE => None,
            (Some(code), _) => Some(format!("the program ended with status {code}")),
            (None, Some(number)) => Some(format!("signal {number} ended the program")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_does_not_inherit_that_signals_are_caught() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("status");
        let script = format!("grep ^SigBlk: /proc/self/status >{}", out.display());
        let start = |signals: &EndSignals| {
            let mut program =
                Program::start("sh", &["-c".to_owned(), script.clone()], None, signals).unwrap();
            program.child.wait().unwrap();
            std::fs::read_to_string(&out).unwrap()
        };
        // In a thread of its own, which has the mask.
        let status =
            std::thread::scope(|scope| scope.spawn(|| start(&EndSignals::catch().unwrap())).join().unwrap());
        // SIGHUP, SIGINT and SIGTERM are 1, 2 and 15.
        let blocked = u64::from_str_radix(status.trim_start_matches("SigBlk:").trim(), 16).unwrap();
        assert_eq!(blocked & 0x4003, 0, "{status}");
    }
}
