//! `tardy check`, and what it measures with `--measure`.

use std::path::PathBuf;

use super::values::output_path;
use clap::Args;
use tardy_measure::doctor::Change;
use tardy_recipe::values::{CpuSelection, PositiveDuration};
use tardy_record::load_spec::LoadSpec;

/// `tardy check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Check a program instead of the machine: a pid or a name (docs/attach.md)
    #[arg(value_name = "PID|NAME", conflicts_with_all = ["full", "measure", "kernel_root"])]
    pub program: Option<String>,
    /// Start this program, check it, and end it; the kernel's own monitors see only threads that start while they are enabled
    #[arg(last = true, conflicts_with_all = ["program", "full", "measure", "kernel_root"])]
    pub command: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Print also the reasons and sources of notes, the setting or reason of each check without a finding, and every fact
    /// with its source.
    #[arg(long, conflicts_with_all = ["json", "measure"])]
    pub full: bool,
    /// Try each change that can be made while the machine runs, measure it in several rounds, undo it, and rank the changes
    /// by their effect (docs/check.md)
    #[arg(long)]
    pub measure: bool,
    /// How changes are tried.
    #[command(flatten)]
    pub trials: TrialFlags,
    /// Read kernel files below this directory.
    #[arg(long, hide = true, default_value = "/")]
    pub kernel_root: PathBuf,
}

/// Options of `--measure`.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --measure")]
pub struct TrialFlags {
    /// Changes to try: governor, idle, throttling, fair-server, interrupts, irq-threads-up, irq-threads-down, ktimers-up,
    /// ktimers-down, timer-migration [default: all that are possible here]
    #[arg(long, value_name = "CHANGE,…", value_delimiter = ',', requires = "measure", value_parser = change)]
    pub only: Option<Vec<Change>>,
    /// Duration of each trial [default: 5s]
    #[arg(long, value_name = "TIME", requires = "measure")]
    pub duration: Option<PositiveDuration>,
    /// How often to try each change [default: two more than significance requires]
    #[arg(long, value_name = "COUNT", requires = "measure")]
    pub rounds: Option<u32>,
    /// Load during the trials, as for `tardy run`. May be repeated [default: none]
    #[arg(long, value_name = "LOAD", requires = "measure")]
    pub load: Option<Vec<LoadSpec>>,
    /// CPUs to measure [default: all but the first, if there is another]
    #[arg(short, long, value_name = "LIST", requires = "measure")]
    pub cpus: Option<CpuSelection>,
    /// Time between deadlines [default: 200us]
    #[arg(short, long, value_name = "TIME", requires = "measure")]
    pub interval: Option<PositiveDuration>,
    /// Real-time priority of the probe, 1 to 99 [default: 90]
    #[arg(short, long, requires = "measure")]
    pub priority: Option<u32>,
    /// Seed of the order of trials, dither and loads [default: 1]
    #[arg(long, requires = "measure")]
    pub seed: Option<u64>,
    /// Keep the run file of every trial in this directory.
    #[arg(short, long, value_name = "DIRECTORY", requires = "measure", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// List the changes that can be tried here, and change nothing.
    #[arg(long, requires = "measure")]
    pub dry_run: bool,
    /// Do not print progress.
    #[arg(short, long, requires = "measure")]
    pub quiet: bool,
    /// Simulate the measurements from a seed, without waiting and without privileges.
    #[arg(long, hide = true, value_name = "SEED", requires = "measure")]
    pub fake: Option<u64>,
}

fn change(name: &str) -> Result<Change, String> {
    let expected = || format!("expected one of {}", Change::ALL.map(Change::name).join(", "));
    Change::of_name(name.trim()).ok_or_else(expected)
}
