//! Exit statuses, the same for every command.

use std::process::ExitCode;

use tardy_analyse::verdict;
use tardy_record::Run;
use tardy_record::run::State;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
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
    pub(crate) fn of_run(run: &Run) -> Self {
        if run.validity.valid { Self::Done } else { Self::Invalid }
    }

    /// The exit status of a command that judges `run`: [`Self::Invalid`], else [`Self::Failed`] if the run's limit was
    /// exceeded, or [`Self::Inconclusive`] if only a lower bound of the maximum is known.
    pub(crate) fn of_verdict(run: &Run) -> Self {
        let verdict = run.plan.limit_ns.and_then(|limit_ns| verdict::of(run, limit_ns));
        match (Self::of_run(run), verdict) {
            (Self::Done, Some(verdict)) if verdict.share_of_limit > 1.0 => Self::Failed,
            (Self::Done, Some(verdict)) if verdict.worst_at_least => Self::Inconclusive,
            (status, _) => status,
        }
    }

    /// The exit status of a command that measured `runs`: the one that matters most, of 1, 5, 3, 4 and 0 in this order.
    pub(crate) fn of_measured_all<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Self {
        let order = [Self::CouldNot, Self::Invalid, Self::Failed, Self::Inconclusive, Self::Done];
        let rank = |status: &Self| order.iter().position(|one| one == status);
        runs.into_iter().map(Self::of_measured).min_by_key(rank).unwrap_or(Self::Done)
    }

    /// The exit status of a command that measured `run`: [`Self::CouldNot`] if it was interrupted, else as
    /// [`Self::of_verdict`].
    pub(crate) fn of_measured(run: &Run) -> Self {
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
