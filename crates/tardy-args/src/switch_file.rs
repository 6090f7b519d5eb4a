//! The switch file that the commands of `tardy tsn` read.

use clap::Args;

/// The switch file, an argument of every command.
#[derive(Debug, Args)]
pub struct SwitchFileArgs {
    /// Switch file (docs/tsn.md), by path, or by name: tsn-two-flows
    pub file: String,
}
