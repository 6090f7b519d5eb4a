//! `tardy fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tardy_recipe::values::PositiveDuration;

use super::values::output_path;

/// The commands of `tardy fleet`.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Measure on many hosts over ssh, and bring the runs back (docs/fleet.md)
    Run(FleetRunArgs),
}

/// `tardy fleet run`.
#[derive(Debug, Args)]
pub struct FleetRunArgs {
    /// Recipe, as of 'tardy run': a name, or the path of a file, which is copied to the hosts.
    pub recipe: Option<String>,
    /// File with the hosts (docs/fleet.md)
    #[arg(long, value_name = "FILE")]
    pub hosts: PathBuf,
    /// Measure on these hosts only: names and tags. May be repeated.
    #[arg(long, value_name = "NAME|TAG", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Work on this many hosts at a time.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub parallel: u32,
    /// Give a host up that has not answered for this long.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub timeout: PositiveDuration,
    /// Stop a run that has not ended after this long [default: none]
    #[arg(long, value_name = "TIME")]
    pub run_timeout: Option<PositiveDuration>,
    /// Directory of tardy-x86_64, tardy-aarch64, … for the hosts [default: that of this program, then dist/; for this machine's own
    /// processor, this program]
    #[arg(long, value_name = "DIR")]
    pub binaries: Option<PathBuf>,
    /// Directory for the runs and the state [default: tardy-fleet-DATE-TIME]
    #[arg(short, long, value_name = "DIR", value_parser = output_path(), required_if_eq("resume", "true"))]
    pub output: Option<PathBuf>,
    /// Continue the fleet of the directory -o: collect runs that went on, and measure on hosts that failed.
    #[arg(long)]
    pub resume: bool,
    /// Put the runs into this archive too; it is made if it does not exist (docs/archive.md)
    #[arg(long, value_name = "ARCHIVE")]
    pub keep: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Do not print progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// Options of 'tardy run' on the hosts.
    #[arg(last = true, value_name = "OPTIONS OF RUN")]
    pub options: Vec<String>,
}
