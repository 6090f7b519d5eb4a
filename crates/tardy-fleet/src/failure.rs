//! Why a host has no result, as a message for the user.

use std::time::Duration;

use tardy_plot::numbers::rounded;
use thiserror::Error;

/// Why a host has no result. Texts of hosts in it are bounded and have no control characters.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Failure {
    /// ssh cannot log in.
    #[error(
        "ssh cannot log in: {message}; make 'ssh' work without a password for this address, user and key first"
    )]
    CannotLogIn {
        /// ssh's message.
        message: String,
    },
    /// The host has not answered for too long, and no run is on it.
    #[error("no answer for {} while {step} ({message}); --resume tries it again", time(.waited))]
    NoAnswer {
        /// For how long.
        waited: Duration,
        /// What tardy was doing.
        step: &'static str,
        /// The last error.
        message: String,
    },
    /// The host has not answered for too long, and a run may be on it.
    #[error("no answer for {} while {step} ({message}); its run is detached and may go on: --resume collects it", time(.waited))]
    LostRun {
        /// For how long.
        waited: Duration,
        /// What tardy was doing.
        step: &'static str,
        /// The last error.
        message: String,
    },
    /// The directory of the hosts file is not there.
    #[error("there is no directory {directory} on the host; set 'directory' in the hosts file")]
    NoDirectory {
        /// The directory.
        directory: String,
    },
    /// tardy's directory cannot be made.
    #[error(
        "cannot make a directory in {directory} on the host: {message}; set 'directory' in the hosts file"
    )]
    CannotMakeDirectory {
        /// The directory of the hosts file.
        directory: String,
        /// The host's message.
        message: String,
    },
    /// Another user of the host has made tardy's directory.
    #[error(
        "{path} on the host belongs to another user or is a link; remove it there, or set 'directory' in the hosts file"
    )]
    ForeignDirectory {
        /// Its path.
        path: String,
    },
    /// tardy knows no program for such a processor.
    #[error(
        "'uname -m' of the host is '{machine}', for which tardy has no program; build one and set 'binary' in the hosts file"
    )]
    UnknownMachine {
        /// What the host reports.
        machine: String,
    },
    /// The program for the processor is missing here.
    #[error("{name} is not in {looked}; 'make dist' builds it, --binaries DIR names its directory")]
    NoBinary {
        /// The file's name.
        name: String,
        /// The directories that were searched.
        looked: String,
    },
    /// The disk has too little room.
    #[error(
        "{directory} on the host has {free_kib} KiB free, and {needed_kib} KiB are needed; make room, or set 'directory'"
    )]
    NoSpace {
        /// The directory of the hosts file.
        directory: String,
        /// What is free, in KiB.
        free_kib: u64,
        /// What is needed, in KiB.
        needed_kib: u64,
    },
    /// The disk filled up while something was written to it.
    #[error(
        "the disk of {directory} on the host is full ({message}); make room, or set 'directory' in the hosts file"
    )]
    DiskFull {
        /// The directory of the hosts file.
        directory: String,
        /// The host's message.
        message: String,
    },
    /// The program did not arrive as it is.
    #[error("the program cannot be copied to the host: {message}")]
    CopyFailed {
        /// The host's message.
        message: String,
    },
    /// The program does not run there.
    #[error(
        "{program} does not run on the host: {message}; 'make dist' builds static programs for --binaries, and a file system \
         that is mounted noexec needs another 'directory'"
    )]
    DoesNotRun {
        /// The local file.
        program: String,
        /// What it printed there.
        message: String,
    },
    /// tardy on the host has ended without a run.
    #[error("tardy on the host ended with exit status {status}: {log}")]
    RunFailed {
        /// Its exit status.
        status: u8,
        /// The end of its messages.
        log: String,
    },
    /// The host's kernel did not let the threads have their policy.
    #[error(
        "SCHED_{policy} was refused on the host, so it measured as SCHED_OTHER ({kept}); log in as root there, or grant it \
         (docs/security.md): --resume measures again"
    )]
    PolicyRefused {
        /// The policy of the plan, in capitals.
        policy: String,
        /// The run file.
        kept: String,
    },
    /// The host has started again during the run.
    #[error("the host started again during the run{kept}; --resume measures again")]
    Rebooted {
        /// What was saved, as the end of a clause.
        kept: String,
    },
    /// The run's process is gone.
    #[error("the run's process is gone and left no exit status{kept}; --resume measures again")]
    Vanished {
        /// What was saved, as the end of a clause.
        kept: String,
    },
    /// The run took too long.
    #[error("the run had not ended after {} and was stopped; give it more with --run-timeout", time(.limit))]
    TooLong {
        /// The limit.
        limit: Duration,
    },
    /// What came back is not the run.
    #[error("the run file of the host cannot be used: {message}")]
    WrongRunFile {
        /// Why.
        message: String,
    },
    /// The host answers something else than a script of tardy prints.
    #[error("the host's answer cannot be used while {step}: {message}")]
    StrangeAnswer {
        /// What tardy was doing.
        step: &'static str,
        /// What is missing, or the host's message.
        message: String,
    },
    /// An error of this machine.
    #[error("{0}")]
    Local(String),
    /// The user has interrupted the fleet.
    #[error("interrupted; --resume continues")]
    Interrupted,
}

fn time(time: &Duration) -> String {
    rounded(time.as_nanos() as u64)
}
