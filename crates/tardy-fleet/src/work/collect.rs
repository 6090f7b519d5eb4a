//! From a run that goes on to its file here.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::time::Duration;

use tardy_record::run::State;
use tardy_record::{Run, file, validity};
use tardy_sys::files::Existing;

use super::{HostWork, SCRIPT_TIME};
use crate::answer::{ANSWER_MAX, RunState, shown, shown_log};
use crate::failure::Failure;
use crate::script;
use crate::state::Step;
use crate::transport::{Order, TransportError};

/// The first time between two questions whether the run has ended. It grows by half.
const POLL_FIRST: Duration = Duration::from_millis(500);
/// The longest.
const POLL_LAST: Duration = Duration::from_secs(30);
/// The largest run file that a host may send, in bytes.
const RUN_MAX: u64 = 256 << 20;
/// Exit statuses of `tardy run` with a complete run (docs/gate.md).
const WITH_RUN: [u8; 4] = [0, 3, 4, 5];

impl HostWork<'_> {
    /// Whether the run of an earlier fleet is on the host.
    pub(super) fn is_there(&mut self) -> Result<bool, Failure> {
        self.enter(Step::Measuring)?;
        Ok(self.run_state()? != RunState::NotStarted)
    }

    /// Waits for the end of the run, fetches its file, and removes what is left.
    pub(super) fn collect(&mut self) -> Result<(), Failure> {
        let status = match self.wait()? {
            RunState::Ended(status) => status,
            RunState::Rebooted => {
                let kept = self.keep_partial()?;
                return Err(Failure::Rebooted { kept });
            }
            RunState::Vanished(free) => {
                let kept = self.keep_partial()?;
                return Err(match free {
                    Some(0) => Failure::DiskFull {
                        directory: self.host.directory.clone(),
                        message: format!("the run's process is gone{kept}"),
                    },
                    _ => Failure::Vanished { kept },
                });
            }
            RunState::NotStarted | RunState::Running => {
                let message = "its run was not started, or was removed there".to_owned();
                return Err(Failure::StrangeAnswer { step: Step::Measuring.name(), message });
            }
        };
        self.enter(Step::Fetching)?;
        self.state.exit_status = Some(status);
        if !WITH_RUN.contains(&status) {
            let log = self.log()?;
            let kept = self.keep_partial()?;
            return Err(self.run_failed(status, &log, &kept));
        }
        let name = format!("{}.run.json", self.host.name);
        let run = self.fetch(&name, |run| match run.progress.state {
            State::Complete | State::Interrupted => Ok(()),
            State::Running | State::CutShort => Err("it does not contain the end of the run".to_owned()),
        });
        if let Err(Failure::WrongRunFile { .. }) = &run {
            self.remove_quietly();
        }
        let run = run?;
        let (judged, has_limit) = (self.work.judge)(&run);
        (self.state.judged, self.state.has_limit) = (Some(judged), Some(has_limit));
        let refused = validity::refused_policy(&run);
        self.state.run = Some(name.clone());
        match refused {
            // What an ordinary process measures is not an answer, whatever its limit.
            Some(policy) => {
                self.remove_quietly();
                Err(Failure::PolicyRefused { policy: policy.name().to_uppercase(), kept: name })
            }
            None => self.remove(),
        }
    }

    /// Waits until the run has ended in any way. A run that takes too long is stopped.
    fn wait(&mut self) -> Result<RunState, Failure> {
        self.enter(Step::Measuring)?;
        let began = self.work.transport.now();
        let mut pause = POLL_FIRST;
        loop {
            let state = self.run_state()?;
            if state != RunState::Running {
                return Ok(state);
            }
            if let Some(limit) = self.work.run_timeout
                && self.work.transport.now().saturating_sub(began) >= limit
            {
                self.stop(limit)?;
            }
            if !self.work.transport.pause(pause.min(self.work.timeout / 4)) {
                return Err(Failure::Interrupted);
            }
            pause = (pause * 3 / 2).min(POLL_LAST);
        }
    }

    fn run_state(&mut self) -> Result<RunState, Failure> {
        let (answer, end) = self.ask(&script::poll(self.host, &self.state.run_id))?;
        RunState::of(&answer).ok_or_else(|| Failure::StrangeAnswer {
            step: self.state.step.name(),
            message: shown(&end.errors),
        })
    }

    /// Ends a run that takes too long: first by SIGTERM, so that it writes its file.
    fn stop(&mut self, limit: Duration) -> Result<(), Failure> {
        for kill in [false, true] {
            self.ask(&script::stop(self.host, &self.state.run_id, kill))?;
            let asked = self.work.transport.now();
            while self.work.transport.now().saturating_sub(asked) < SCRIPT_TIME.min(self.work.timeout) {
                if self.run_state()? != RunState::Running {
                    self.keep_partial()?;
                    return Err(Failure::TooLong { limit });
                }
                if !self.work.transport.pause(POLL_FIRST.min(self.work.timeout / 8)) {
                    return Err(Failure::Interrupted);
                }
            }
        }
        Err(Failure::TooLong { limit })
    }

    /// Keeps what a run that was cut short has recorded, and removes it from the host. Returns where it is, as the end of a clause.
    fn keep_partial(&mut self) -> Result<String, Failure> {
        self.enter(Step::Fetching)?;
        let name = format!("{}.partial.run.json", self.host.name);
        let kept = match self.fetch(&name, |_| Ok(())) {
            Ok(_) => format!("; what it had recorded is in {name}"),
            Err(Failure::WrongRunFile { .. }) => String::new(),
            Err(failure) => return Err(failure),
        };
        self.remove_quietly();
        Ok(kept)
    }

    /// The end of the run's log.
    fn log(&mut self) -> Result<String, Failure> {
        let script = script::log(self.host, &self.state.run_id);
        let timeout = SCRIPT_TIME.min(self.work.timeout);
        let order = Order { script: &script, input: None, output_max: ANSWER_MAX, timeout };
        self.persist(|this| {
            let mut output = Vec::new();
            this.work.transport.run(this.host, order, &mut output)?;
            Ok(String::from_utf8_lossy(&output).into_owned())
        })
    }

    /// The failure of a run without a result.
    fn run_failed(&self, status: u8, log: &str, kept: &str) -> Failure {
        let message = format!("{}{kept}", shown_log(log));
        match log.contains("No space left on device") {
            true => Failure::DiskFull { directory: self.host.directory.clone(), message },
            false => Failure::RunFailed { status, log: message },
        }
    }

    /// Fetches the run file as `name` and checks it, also with `check`. Nothing is left of a file that is not a run.
    fn fetch(&mut self, name: &str, check: impl Fn(&Run) -> Result<(), String>) -> Result<Run, Failure> {
        let script = script::fetch(self.host, &self.state.run_id);
        let order =
            Order { script: &script, input: None, output_max: RUN_MAX, timeout: self.time_for(RUN_MAX) };
        let mut outcome = Err(Failure::Interrupted);
        let directory = self.work.state.directory();
        let written = directory.replace(OsStr::new(name), 0o666, Existing::Replaced, |file| {
            outcome = self.received(order, file).and_then(|run| match check(&run) {
                Ok(()) => Ok(run),
                Err(message) => Err(Failure::WrongRunFile { message }),
            });
            if outcome.is_ok() { Ok(()) } else { Err(io::Error::other("not a run")) }
        });
        let run = outcome?;
        written.map_err(|error| Failure::Local(format!("{name}: {error}")))?;
        Ok(run)
    }

    /// Writes what the host sends into `file`, and reads it as a run.
    fn received(&mut self, order: Order<'_>, file: &mut File) -> Result<Run, Failure> {
        let end = self.persist(|this| {
            file.set_len(0)?;
            file.rewind()?;
            this.work.transport.run(this.host, order, file).map_err(|error| match error {
                TransportError::Local(error) => TransportError::Local(io::Error::new(
                    error.kind(),
                    format!("the run cannot be written here: {error}"),
                )),
                other => other,
            })
        })?;
        if end.status != 0 {
            return Err(Failure::WrongRunFile { message: shown(&end.errors) });
        }
        let mut text = Vec::new();
        let read = file.rewind().and_then(|()| file.read_to_end(&mut text));
        read.map_err(|error| Failure::Local(error.to_string()))?;
        file::from_text(&text).map_err(|error| Failure::WrongRunFile { message: shown(&error.to_string()) })
    }

    /// Removes what is left on the host.
    pub(super) fn remove(&mut self) -> Result<(), Failure> {
        self.enter(Step::Removing)?;
        let (answer, end) = self.ask(&script::remove(self.host, &self.state.run_id))?;
        if answer.get("removed").is_none() {
            return Err(Failure::StrangeAnswer { step: Step::Removing.name(), message: shown(&end.errors) });
        }
        self.state.is_on_host = false;
        Ok(())
    }

    /// The same after a failure that is more important than one of this.
    pub(super) fn remove_quietly(&mut self) {
        let step = self.state.step;
        let _ = self.remove();
        self.state.step = step;
    }
}
