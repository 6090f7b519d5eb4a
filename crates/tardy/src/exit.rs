//! Exit statuses, the same for every command.

use std::process::ExitCode;

use tardy_record::Run;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done, or passed.
    Done = 0,
    /// Could not do it.
    CouldNot = 1,
    /// Was used wrongly.
    Usage = 2,
    /// Done, and the answer is no: `check` on a machine that is not ready.
    Failed = 3,
    /// The run is invalid.
    Invalid = 5,
}

impl Exit {
    /// What a run that was shown means.
    pub(crate) fn of_run(run: &Run) -> Self {
        if run.validity.valid { Self::Done } else { Self::Invalid }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
