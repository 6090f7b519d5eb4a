//! `--redact`, of every command that writes a run or text about it.

use clap::Args;

/// `--redact`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct RedactionFlag {
    /// Remove what identifies the machine, the user or the project, such as host name and command lines (docs/run-file.md)
    #[arg(long, help_heading = "Results")]
    pub redact: bool,
}
