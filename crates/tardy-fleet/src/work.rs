//! The steps of one host, from the first connection to the run file.

mod collect;
mod setup;

use std::time::Duration;

use tardy_record::Run;

use crate::answer::{ANSWER_MAX, Answer, shown};
use crate::binaries::Binaries;
use crate::failure::Failure;
use crate::hosts::Host;
use crate::state::{HostState, StateFile, Step};
use crate::transport::{End, Order, Transport, TransportError};

/// How long one script without data may take, at most.
const SCRIPT_TIME: Duration = Duration::from_secs(30);
/// What a connection that carries data transfers at least, in bytes per second. A dead connection is noticed by ssh earlier.
const RATE_LEAST: u64 = 256 * 1024;
/// The time between two attempts to reach a host, at most.
const RETRY: Duration = Duration::from_secs(5);

/// What all hosts have to do.
pub struct Work<'a> {
    /// How scripts get there.
    pub transport: &'a dyn Transport,
    /// The programs for the hosts.
    pub binaries: &'a Binaries,
    /// What is known about the hosts.
    pub state: &'a StateFile,
    /// The local file of the recipe, or `/dev/null` if the recipe is built in.
    pub recipe_file: &'a std::path::Path,
    /// The words of `tardy run` on the host: the recipe and the options.
    pub words: &'a [String],
    /// After how much time without an answer a host is given up.
    pub timeout: Duration,
    /// After how much time a run is stopped.
    pub run_timeout: Option<Duration>,
    /// The exit status that a run file results in, and whether the run has a limit.
    pub judge: &'a (dyn Fn(&Run) -> (u8, bool) + Sync),
    /// Called after each change of a host's state.
    pub changed: &'a (dyn Fn() + Sync),
}

/// One host at work.
pub(crate) struct HostWork<'a> {
    work: &'a Work<'a>,
    host: &'a Host,
    state: HostState,
    /// When the host last answered, by the transport's clock.
    answered: Duration,
}

/// Takes a host through all steps that are left. The result is in the state.
pub fn take_through(work: &Work<'_>, host: &Host) {
    let mut one = HostWork { work, host, state: work.state.of(&host.name), answered: work.transport.now() };
    let outcome = one.go();
    one.note(outcome);
}

impl HostWork<'_> {
    fn go(&mut self) -> Result<(), Failure> {
        if self.state.step == Step::Done {
            if self.state.is_on_host {
                self.remove()?;
                self.state.remark = None;
            }
            return Ok(());
        }
        self.state.error = None;
        if self.state.is_on_host && self.is_there()? {
            return self.collect();
        }
        self.set_up()?;
        self.collect()
    }

    /// Records the outcome. A host whose file is here is done, whatever happened afterwards.
    fn note(&mut self, outcome: Result<(), Failure>) {
        match outcome {
            Ok(()) => self.state.step = Step::Done,
            Err(failure)
                if self.state.run.is_some()
                    && self.state.exit_status.is_some()
                    && !matches!(failure, Failure::PolicyRefused { .. }) =>
            {
                self.state.step = Step::Done;
                self.state.remark = Some(format!("what was left on the host is not removed: {failure}"));
            }
            // What goes on there is measuring, and --resume finds it.
            Err(Failure::Interrupted) => self.state.error = Some(Failure::Interrupted.to_string()),
            Err(failure) => {
                self.state.step = Step::Failed;
                self.state.error = Some(failure.to_string());
            }
        }
        if let Err(failure) = self.save() {
            self.state.error.get_or_insert(failure.to_string());
        }
    }

    /// Enters a step. The file is written first.
    fn enter(&mut self, step: Step) -> Result<(), Failure> {
        self.state.step = step;
        self.save()
    }

    fn save(&self) -> Result<(), Failure> {
        let new = self.state.clone();
        let saved = self.work.state.change(&self.host.name, |state| *state = new);
        (self.work.changed)();
        saved.map_err(|error| Failure::Local(format!("the fleet's state cannot be written: {error}")))
    }

    /// Runs a script without data, and returns its answer and how it ended.
    fn ask(&mut self, script: &str) -> Result<(Answer, End), Failure> {
        self.ask_with(script, None, SCRIPT_TIME.min(self.work.timeout))
    }

    /// How long a transfer of so many bytes may take.
    fn time_for(&self, bytes: u64) -> Duration {
        self.work.timeout + Duration::from_secs(bytes / RATE_LEAST)
    }

    fn ask_with(
        &mut self,
        script: &str,
        input: Option<&std::path::Path>,
        timeout: Duration,
    ) -> Result<(Answer, End), Failure> {
        let order = Order { script, input, output_max: ANSWER_MAX, timeout };
        self.persist(|this| {
            let mut output = Vec::new();
            let end = this.work.transport.run(this.host, order, &mut output)?;
            Ok((Answer::of(&output), end))
        })
    }

    /// Repeats an attempt until the host answers, or has not for too long.
    fn persist<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Self) -> Result<T, TransportError>,
    ) -> Result<T, Failure> {
        let step = self.state.step.name();
        loop {
            let message = match attempt(self) {
                Ok(done) => {
                    self.answered = self.work.transport.now();
                    return Ok(done);
                }
                Err(TransportError::Interrupted) => return Err(Failure::Interrupted),
                Err(TransportError::Local(error)) => return Err(Failure::Local(error.to_string())),
                Err(error @ TransportError::TooMuch(_)) => {
                    let message = format!("it sent {error}");
                    return Err(Failure::StrangeAnswer { step, message });
                }
                // A host that has a run may be in the middle of a reboot.
                Err(TransportError::Refused(message)) if !self.state.is_on_host => {
                    return Err(Failure::CannotLogIn { message: shown(&message) });
                }
                Err(error) => shown(&error.to_string()),
            };
            let waited = self.work.transport.now().saturating_sub(self.answered);
            if waited >= self.work.timeout {
                return Err(match self.state.is_on_host {
                    true => Failure::LostRun { waited, step, message },
                    false => Failure::NoAnswer { waited, step, message },
                });
            }
            let pause = RETRY.min(self.work.timeout / 8).min(self.work.timeout - waited);
            if !self.work.transport.pause(pause) {
                return Err(Failure::Interrupted);
            }
        }
    }

    /// The failure of a script that could not write, if the host's disk is full; else `other` with the host's message.
    fn write_error(&self, answer: &Answer, end: &End, other: impl FnOnce(String) -> Failure) -> Failure {
        let message = shown(&end.errors);
        if answer.number("free") == Some(0) || end.errors.contains("No space left") {
            return Failure::DiskFull { directory: self.host.directory.clone(), message };
        }
        other(message)
    }
}

#[cfg(test)]
mod tests;
