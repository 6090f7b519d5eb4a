//! `tardy check`, and what it measures if it shall.

use std::path::PathBuf;

use clap::Args;

/// `tardy check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Try what can be changed while the machine runs, one change at a time, measure each in several rounds, put
    /// everything back, and rank what helped (docs/check.md).
    #[arg(long)]
    pub(crate) measure: bool,
    #[command(flatten)]
    pub(crate) trials: TrialFlags,
    /// Read kernel files under this directory instead.
    #[arg(long, hide = true, default_value = "/")]
    pub(crate) kernel_root: PathBuf,
}

/// What `--measure` measures.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --measure")]
pub(crate) struct TrialFlags {
    /// Which changes: governor, idle, throttling, fair-server, interrupts, irq-threads-up, irq-threads-down, ktimers-up,
    /// ktimers-down, timer-migration [default: all that can be tried here]
    #[arg(long, value_name = "CHANGE,…", value_delimiter = ',', requires = "measure")]
    pub(crate) only: Option<Vec<String>>,
    /// How long each trial lasts [default: 5s]
    #[arg(long, value_name = "TIME", requires = "measure")]
    pub(crate) duration: Option<String>,
    /// How often each change is tried [default: two more than it takes to tell anything from chance]
    #[arg(long, value_name = "COUNT", requires = "measure")]
    pub(crate) rounds: Option<u32>,
    /// What runs meanwhile, as with `tardy run`; may be given several times [default: none]
    #[arg(long, value_name = "LOAD", requires = "measure")]
    pub(crate) load: Option<Vec<String>>,
    /// CPUs to measure [default: all but the first, where there is another]
    #[arg(short, long, value_name = "LIST", requires = "measure")]
    pub(crate) cpus: Option<String>,
    /// From one deadline to the next [default: 200us]
    #[arg(short, long, value_name = "TIME", requires = "measure")]
    pub(crate) interval: Option<String>,
    /// Real-time priority of the probe, 1 to 99 [default: 90]
    #[arg(short, long, requires = "measure")]
    pub(crate) priority: Option<u32>,
    /// Seeds the order of the trials, dither and loads [default: 1]
    #[arg(long, requires = "measure")]
    pub(crate) seed: Option<u64>,
    /// Keep the run of every trial in this directory.
    #[arg(short, long, value_name = "DIRECTORY", requires = "measure")]
    pub(crate) output: Option<PathBuf>,
    /// Show what could be tried here, and change nothing.
    #[arg(long, requires = "measure")]
    pub(crate) dry_run: bool,
    /// No progress on standard error.
    #[arg(short, long, requires = "measure")]
    pub(crate) quiet: bool,
    /// Invent the measurements from a seed, without waiting and without privileges.
    #[arg(long, hide = true, value_name = "SEED", requires = "measure")]
    pub(crate) fake: Option<u64>,
}
