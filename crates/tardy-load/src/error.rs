//! What can be wrong with a load, before it runs.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a load cannot be.
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
        /// What was asked for.
        spec: String,
        /// The program.
        program: &'static str,
        /// Debian's package that has it.
        package: &'static str,
    },
    /// `none` beside another load.
    #[error("the load 'none' was asked for together with '{other}'; leave one of them out")]
    NoneAmongOthers {
        /// The first other one.
        other: String,
    },
    /// The processes could not be made.
    #[error("the loads cannot be started: {what} ({path}): {source}")]
    Start {
        /// What was tried.
        what: &'static str,
        /// The file it was tried with.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A part ended before the measurement began.
    #[error("load {spec} ({part}) did not start: {how}")]
    DidNotStart {
        /// Which load.
        spec: String,
        /// Which part of it.
        part: &'static str,
        /// What it said.
        how: String,
    },
    /// Some parts were not running in time.
    #[error(
        "{parts} not running after {seconds} s; is the machine so busy, or a file system stuck? Try `tardy load` alone"
    )]
    TooSlow {
        /// Which parts.
        parts: String,
        /// How long was waited.
        seconds: u64,
    },
}
