//! Why an emulator does not run.

use std::io;

use thiserror::Error;

/// Why the emulator does not run.
#[derive(Debug, Error)]
pub enum EmulatorError {
    /// It is not installed.
    #[error("{program} is not installed: install {package} (apt-get install {package})")]
    Missing {
        /// The program.
        program: &'static str,
        /// Debian's package of it.
        package: &'static str,
    },
    /// It cannot be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// The program.
        program: &'static str,
        /// The error.
        source: io::Error,
    },
    /// It cannot be pinned to its CPU.
    #[error("the emulator cannot be pinned to cpu {core}: {source}")]
    Pin {
        /// The host CPU.
        core: u32,
        /// The error.
        source: io::Error,
    },
    /// It cannot be confined.
    #[error(
        "guests cannot be confined here: {0}. With --unconfined a guest runs, and a hostile one can do everything that you can"
    )]
    Unconfinable(#[from] Unconfinable),
    /// Its output cannot be read.
    #[error("the emulator's output cannot be read: {0}")]
    Read(io::Error),
}

/// Why an emulator cannot be confined.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unconfinable {
    /// The emulator has no sandbox.
    #[error("{program} has no sandbox ({reason})")]
    Emulator {
        /// The program.
        program: String,
        /// What it printed.
        reason: String,
    },
    /// The kernel cannot filter system calls.
    #[error("this kernel does not filter system calls (CONFIG_SECCOMP_FILTER)")]
    Kernel,
    /// Nothing restricts access to files.
    #[error(
        "this kernel has no Landlock (Linux 5.13, CONFIG_SECURITY_LANDLOCK, lsm=landlock), and tardy cannot run the \
         emulator as another user, which requires root"
    )]
    Files,
}
