//! How a script gets to a host and its answer back.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use thiserror::Error;

use crate::hosts::Host;

/// A script for a host.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The script, for a POSIX shell.
    pub script: &'a str,
    /// The file that is its standard input; none if it reads nothing.
    pub input: Option<&'a Path>,
    /// The most bytes of its standard output that are read.
    pub output_max: u64,
    /// How long it may take, with the connection.
    pub timeout: Duration,
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Its exit status.
    pub status: i32,
    /// The beginning of its standard error.
    pub errors: String,
}

/// Why a script did not end, or whether it did is unknown.
#[derive(Debug, Error)]
pub enum TransportError {
    /// ssh reports what another attempt does not change, such as a key that is not accepted.
    #[error("{0}")]
    Refused(String),
    /// ssh could not connect, or lost the connection.
    #[error("{0}")]
    Lost(String),
    /// The time was over.
    #[error("it took longer than {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The host sent more than the order permits, in bytes.
    #[error("more than {0} bytes")]
    TooMuch(u64),
    /// The user has interrupted the fleet.
    #[error("interrupted")]
    Interrupted,
    /// An error of this machine.
    #[error(transparent)]
    Local(#[from] io::Error),
}

/// A way to run scripts on hosts. The tests have one without hosts and with a clock of its own.
pub trait Transport: Sync {
    /// Runs a script on a host. Its standard output goes to `output`.
    ///
    /// # Errors
    /// If the script did not end in time, or the host was not reached. Part of the output may have been written.
    fn run(&self, host: &Host, order: Order<'_>, output: &mut dyn Write) -> Result<End, TransportError>;

    /// The time since any moment in the past.
    fn now(&self) -> Duration;

    /// Waits. Returns whether the user has not interrupted the fleet.
    fn pause(&self, time: Duration) -> bool;
}
