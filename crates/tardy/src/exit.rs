//! Exit statuses, the same for every command.

use std::process::ExitCode;

use tardy_record::Run;

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
    /// The run is invalid.
    Invalid = 5,
}

impl Exit {
    /// The exit status for `run`: [`Self::Invalid`] if the run is invalid.
    pub(crate) fn of_run(run: &Run) -> Self {
        if run.validity.valid { Self::Done } else { Self::Invalid }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
