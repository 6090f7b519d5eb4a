//! Exit statuses, the same for every command.

use std::process::ExitCode;

use anyhow::{Error, Result};
use tardy_analyse::judgement::{self, Judgement};
use tardy_analyse::stop;
use tardy_recipe::{RecipeError, UsageError};
use tardy_record::Run;
use tardy_record::run::State;

use crate::output;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or passed.
    Done = 0,
    /// The command failed.
    CouldNot = 1,
    /// Wrong options, or a wrong recipe or switch file.
    Usage = 2,
    /// Done, and a check failed, for example `check` on a machine that is not real-time.
    Failed = 3,
    /// Whether the limit was exceeded is unknown.
    Inconclusive = 4,
    /// The run is invalid.
    Invalid = 5,
}

impl Exit {
    /// The exit status of a command that converts or shows `run`: [`Self::Invalid`] if the run is invalid.
    pub fn of_run(run: &Run) -> Self {
        if run.validity.valid { Self::Done } else { Self::Invalid }
    }

    /// The exit status of a command that judges `run`: [`Self::Invalid`], else [`Self::Failed`] if the run's limit was exceeded
    /// or a flow of a switch left its slots or exceeded its limits, else [`Self::Inconclusive`] if only a lower bound of the
    /// maximum is known. Of a run that ends when its data decide a claim about its limit, the claim decides.
    pub fn of_verdict(run: &Run) -> Self {
        match judgement::of(run) {
            Judgement::NoLimit | Judgement::Met => Self::Done,
            Judgement::Exceeded => Self::Failed,
            Judgement::Inconclusive => Self::Inconclusive,
            Judgement::Invalid => Self::Invalid,
        }
    }

    /// The exit status of a command that measured `runs`: the one that matters most, of 1, 5, 3, 4 and 0 in this order.
    pub fn of_measured_all<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Self {
        Self::that_matters_most(runs.into_iter().map(Self::of_measured))
    }

    /// The one of `statuses` that matters most, of 1, 5, 3, 4 and 0 in this order.
    pub fn that_matters_most(statuses: impl IntoIterator<Item = Self>) -> Self {
        let order = [Self::CouldNot, Self::Invalid, Self::Failed, Self::Inconclusive, Self::Done];
        let rank = |status: &Self| order.iter().position(|one| one == status);
        statuses.into_iter().min_by_key(rank).unwrap_or(Self::Done)
    }

    /// The exit status of a command that measured `run`: [`Self::CouldNot`] if it was interrupted, else as
    /// [`Self::of_verdict`].
    pub fn of_measured(run: &Run) -> Self {
        match run.progress.state {
            State::Interrupted if run.validity.valid => Self::CouldNot,
            _ => Self::of_verdict(run),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The exit status of a command's outcome. Prints its error, if it failed. `is_about_options`: whether an error is about what the user gave.
pub fn code(outcome: Result<Exit>, is_about_options: impl FnOnce(&Error) -> bool) -> ExitCode {
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::report(&output::message(&error));
            let usage = error.downcast_ref().is_some_and(|error: &UsageError| !error.machine_lacks)
                || error.is::<RecipeError>()
                || is_about_options(&error);
            if usage { Exit::Usage } else { Exit::CouldNot }.into()
        }
    }
}

/// What `command` returns. If it panics, that is a fault of tardy, such as a file that was accepted and has numbers that no code expects:
/// what the command changed is undone on the way here, and its exit status is that of a command that failed.
pub fn without_panic(command: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let reason = stop::message_of(panic.payload()).unwrap_or_default();
        output::report(&format!(
            "a fault of tardy at {place}: {reason}; report it with the command and its files"
        ));
    }));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(command)).unwrap_or(Exit::CouldNot.into())
}

#[cfg(test)]
mod tests {
    use tardy_tsn::simulate::Options;
    use tardy_tsn::simulate::recorded::{Request, simulate};

    use super::*;

    /// A run of the article's switch with queues of this length.
    fn run(queue_frames: u32) -> Run {
        let text = include_str!("../../../recipes/tsn-two-flows.toml");
        let request = Request {
            network: &tardy_tsn::file::parse(text).unwrap(),
            options: &Options { queue_frames, ..Options::default() },
            talk_ns: 10_000_000,
            phases: &[true],
            file: ("tsn-two-flows.toml", text),
            command: &[],
            version: "",
        };
        simulate(&request, &mut ()).unwrap().run
    }

    #[test]
    fn the_man_pages_list_every_status() {
        let all = [Exit::Done, Exit::CouldNot, Exit::Usage, Exit::Failed, Exit::Inconclusive, Exit::Invalid];
        let statuses = all.map(|exit| (exit as u8).to_string());
        assert_eq!(tardy_args::EXIT_STATUS.map(|(status, _)| status.to_owned()), statuses);
    }

    #[test]
    fn an_invalid_run_precedes_one_that_lost_frames() {
        let (held, lossy) = (run(1000), run(5));
        assert_eq!(Exit::of_verdict(&lossy), Exit::Failed);
        assert_eq!(Exit::of_measured_all([&held]), Exit::Done);
        assert_eq!(Exit::of_measured_all([&held, &lossy]), Exit::Failed);
        let mut invalid = lossy.clone();
        invalid.validity.valid = false;
        assert_eq!(Exit::of_measured_all([&lossy, &invalid, &held]), Exit::Invalid);
    }
}
