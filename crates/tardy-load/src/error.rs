//! Errors of loads before they run.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a load cannot run.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A plan from a run file names a load that this version does not know.
    #[error("'{text}' is not a load of this version of tardy")]
    Unrecognised {
        /// The text of the run file.
        text: String,
    },
    /// A program that the load runs is not installed.
    #[error(
        "the load '{spec}' needs the program {program}, which is not installed; it is in Debian's package {package} \
         (apt install {package})"
    )]
    NoProgram {
        /// What was requested.
        spec: String,
        /// The program.
        program: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// `none` was combined with another load.
    #[error("the load 'none' cannot be combined with '{other}'; remove one of them")]
    NoneAmongOthers {
        /// The other load.
        other: String,
    },
    /// The processes could not be started.
    #[error("the loads cannot be started: {what} ({path}): {source}")]
    Start {
        /// The step that failed.
        what: &'static str,
        /// The file concerned.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A part ended before the measurement began.
    #[error("load {spec} ({part}) did not start: {how}")]
    DidNotStart {
        /// The load.
        spec: String,
        /// The part.
        part: &'static str,
        /// Its message.
        how: String,
    },
    /// Some parts were not running in time.
    #[error(
        "{parts} not running after {seconds} s; the machine may be overloaded or a file system may hang: try `tardy load` on its own"
    )]
    TooSlow {
        /// The parts.
        parts: String,
        /// The time waited.
        seconds: u64,
    },
}
