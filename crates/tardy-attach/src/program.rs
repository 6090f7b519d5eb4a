//! A program that tardy starts to watch it.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tardy_sys::child::{self, signal};
use tardy_sys::programs;

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
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(program: &str, arguments: &[String], marker: Option<&Path>) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.env("PATH", programs::path_of_user()).args(arguments);
        command.envs(marker.map(|marker| (MARKER, marker)));
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
