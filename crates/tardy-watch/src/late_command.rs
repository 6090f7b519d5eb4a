//! The user's command for late cycles: one process group at a time, with a time limit, and with no right that the user does not
//! have.
//!
//! The command is a line for the shell, as the user wrote it. It has the environment of tardy and the variables below. Text of
//! the watched program, such as a thread's name, reaches it in variables only, so that it is never part of the line, and without control
//! characters, so that a line of a log stays one.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use tardy_plot::numbers::harmless;
use tardy_record::units::format_duration_ns;
use tardy_sys::child::{self, signal};
use tardy_sys::privileges::capabilities::{self, Ambient};
use tardy_sys::processes::ProcessState;
use tardy_sys::programs;

/// The shell, which every system has here.
const SHELL: &str = "/bin/sh";

/// What was late, for the command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occasion {
    /// The thread: the label of its series. `TARDY_LATE_THREAD`.
    pub thread: String,
    /// How late its wake-up was, in ns. `TARDY_LATE_NS`.
    pub latency_ns: i64,
    /// Why, as a sentence without its end. `TARDY_LATE_CAUSE`.
    pub cause: String,
    /// Late cycles since the command was started before. `TARDY_LATE_COUNT`.
    pub count: u64,
    /// The run file. `TARDY_LATE_RUN`.
    pub run: PathBuf,
}

/// The command.
#[derive(Debug)]
pub struct LateCommand {
    line: String,
    limit_ns: u64,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    started_ns: u64,
    is_killed: bool,
}

impl LateCommand {
    /// The command `line`, which may run for `limit_ns`.
    pub fn new(line: &str, limit_ns: u64) -> Self {
        Self { line: line.to_owned(), limit_ns, running: None }
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Starts it at `now_ns`, unless it runs.
    ///
    /// # Errors
    /// If no process can be started, as a message for the user.
    pub fn start(&mut self, occasion: &Occasion, now_ns: u64) -> Result<(), String> {
        if self.is_running() {
            return Ok(());
        }
        let child =
            self.spawn(occasion).map_err(|error| self.message(&format!("cannot be started: {error}")))?;
        self.running = Some(Running { child, started_ns: now_ns, is_killed: false });
        Ok(())
    }

    fn spawn(&self, occasion: &Occasion) -> io::Result<Child> {
        let mut command = Command::new(SHELL);
        command
            .arg("-c")
            .arg(&self.line)
            .env("PATH", programs::path_of_user())
            .env("TARDY_LATE_THREAD", harmless(&occasion.thread))
            .env("TARDY_LATE_NS", occasion.latency_ns.to_string())
            .env("TARDY_LATE_CAUSE", harmless(&occasion.cause))
            .env("TARDY_LATE_COUNT", occasion.count.to_string())
            .env("TARDY_LATE_RUN", absolute(&occasion.run))
            .stdin(Stdio::null())
            // Standard output has tardy's own result.
            .stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?))
            .process_group(0);
        child::prepare(&mut command, &[]);
        capabilities::keep_only(&mut command, &[], Ambient::UnlessGained);
        command.spawn()
    }

    /// Checks its end and its time limit at `now_ns`. Returns a message for the user if it failed or was ended.
    pub fn poll(&mut self, now_ns: u64) -> Option<String> {
        let running = self.running.as_mut()?;
        // A process that was not waited for keeps its number, so the group is still this one.
        if ProcessState::of(running.child.id()).is_some_and(|state| !state.is_zombie) {
            if now_ns.saturating_sub(running.started_ns) >= self.limit_ns && !running.is_killed {
                running.is_killed = true;
                let _ = child::send_to_group(running.child.id(), signal::KILL);
            }
            return None;
        }
        let _ = child::send_to_group(running.child.id(), signal::KILL);
        let (ended, is_killed) = (running.child.wait(), running.is_killed);
        self.running = None;
        let how = match ended {
            _ if is_killed => format!(
                "was ended after {}; --on-late-timeout gives it more time",
                format_duration_ns(self.limit_ns)
            ),
            Ok(status) if status.success() => return None,
            Ok(status) => describe(status),
            Err(error) => format!("could not be waited for: {error}"),
        };
        Some(self.message(&how))
    }

    /// Ends it if it runs.
    pub fn kill(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        let _ = child::send_to_group(running.child.id(), signal::KILL);
        let _ = running.child.wait();
    }

    fn message(&self, what: &str) -> String {
        format!("the command of --on-late {what} ('{}')", self.line.replace('\n', "\\n"))
    }
}

impl Drop for LateCommand {
    fn drop(&mut self) {
        self.kill();
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(number)) => format!("was ended by signal {number}"),
        (None, None) => "ended".to_owned(),
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tardy_sys::clock::monotonic_ns;

    const SECOND: u64 = 1_000_000_000;

    /// Runs `line` to its end, and returns the message.
    fn ran(line: &str, limit_ns: u64, occasion: &Occasion) -> Option<String> {
        let mut command = LateCommand::new(line, limit_ns);
        command.start(occasion, monotonic_ns()).unwrap();
        loop {
            let message = command.poll(monotonic_ns());
            if !command.is_running() {
                return message;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_command_receives_what_was_late_in_variables() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("out");
        let occasion = Occasion {
            thread: "$(touch x); 'a\0b\x1b]0;x\x07\nc\u{202e}".to_owned(),
            latency_ns: 1_234_567,
            cause: "'cc' (task 7) had the CPU".to_owned(),
            count: 3,
            run: PathBuf::from("/a/b.run.json"),
        };
        let line = format!(
            "printf '%s|' \"$TARDY_LATE_THREAD\" $TARDY_LATE_NS \"$TARDY_LATE_CAUSE\" $TARDY_LATE_COUNT $TARDY_LATE_RUN > {}",
            out.display()
        );
        assert_eq!(ran(&line, 60 * SECOND, &occasion), None);
        let text = fs::read_to_string(out).unwrap();
        assert_eq!(
            text,
            "$(touch x); 'a\u{fffd}b\u{fffd}]0;x\u{fffd}\u{fffd}c\u{fffd}|1234567|'cc' (task 7) had the CPU|3|/a/b.run.json|"
        );
    }

    #[test]
    fn a_command_that_fails_is_reported() {
        let message = ran("exit 7", 60 * SECOND, &Occasion::default()).unwrap();
        assert_eq!(message, "the command of --on-late ended with status 7 ('exit 7')");
        let message = ran("kill -TERM $$", 60 * SECOND, &Occasion::default()).unwrap();
        assert!(message.contains("was ended by signal 15"), "{message}");
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_all_that_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let out = directory.path().join("pid");
        let line = format!("sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait", out.display());
        let mut command = LateCommand::new(&line, 60 * SECOND);
        let begin_ns = monotonic_ns();
        command.start(&Occasion::default(), begin_ns).unwrap();
        while !out.exists() {
            std::thread::yield_now();
        }
        assert_eq!(command.poll(begin_ns), None);
        let mut message = None;
        while command.is_running() {
            message = command.poll(begin_ns + 60 * SECOND);
        }
        assert!(message.unwrap().contains("was ended after 1m"));
        let pid: u32 = fs::read_to_string(out).unwrap().trim().parse().unwrap();
        while ProcessState::of(pid).is_some_and(|state| !state.is_zombie) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn only_one_runs_at_a_time_and_none_is_left() {
        let mut command = LateCommand::new("sleep 1000", 60 * SECOND);
        command.start(&Occasion::default(), 0).unwrap();
        let first = command.running.as_ref().unwrap().child.id();
        command.start(&Occasion::default(), 1).unwrap();
        assert_eq!(command.running.as_ref().unwrap().child.id(), first);
        drop(command);
        assert_eq!(ProcessState::of(first), None);
    }
}
