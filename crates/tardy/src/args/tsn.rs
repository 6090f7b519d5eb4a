//! `tardy tsn`: a time-aware switch, from its file.

use clap::{Args, Subcommand};

/// `tardy tsn …`.
#[derive(Debug, Subcommand)]
pub(crate) enum TsnCommand {
    /// What the kernel would refuse, and what it would accept and get wrong; nothing is touched.
    Check(TsnCheckArgs),
}

/// What every command reads.
#[derive(Debug, Args)]
pub(crate) struct SwitchFileArgs {
    /// A file that describes a switch (docs/tsn.md), by path, or one of tardy's own by name: tsn-two-flows
    pub(crate) file: String,
}

/// `tardy tsn check`.
#[derive(Debug, Args)]
pub(crate) struct TsnCheckArgs {
    #[command(flatten)]
    pub(crate) switch: SwitchFileArgs,

    /// Fail also over what the kernel accepts and gets wrong.
    #[arg(long)]
    pub(crate) strict: bool,
    /// By the file alone: do not ask this machine about its interfaces and clocks.
    #[arg(long)]
    pub(crate) offline: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
