//! `tardy lab`: experiments on emulated machines.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tardy_recipe::options::RecipeFlags;
use tardy_recipe::values::{PositiveDuration, scale};

use super::LabOptions;
use super::RedactionFlag;
use super::RequirementArgs;
use super::values::output_path;

/// `tardy lab …`.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run a recipe on one or more kernels, compare the runs, and write run files and a report.
    Run(Box<LabRunArgs>),
    /// Check that a recipe yields the same bytes every time: alone, with other guests running, and with a load on its CPU.
    Verify(Box<LabVerifyArgs>),
    /// List kernels in the cache and kernels that the distribution offers.
    Kernels(LabKernelsArgs),
}

/// `tardy lab run`.
#[derive(Debug, Args)]
pub(crate) struct LabRunArgs {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,

    /// Run with this many seeds, of which the recipe's is the first, and show how much the maxima depend on them.
    #[arg(
        long,
        default_value_t = 1,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with = "all",
        help_heading = "What to run"
    )]
    pub(crate) seeds: u32,
    /// Boot each kernel this many times, each boot with another seed, and compare the kernels boot by boot: the seed moves the
    /// loads, the dither and the time between boot and measurement. At least 4 for a test (docs/compare.md)
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with_all = ["all", "seeds"],
        help_heading = "What to run"
    )]
    pub(crate) rounds: Option<u32>,
    /// Run the experiments of all articles, and write one report with a chapter for each.
    #[arg(long, conflicts_with_all = ["recipe", "kernel"], help_heading = "What to run")]
    pub(crate) all: bool,
    /// Directory for run files, console logs and the report [default: tardy-lab-RECIPE]
    #[arg(short, long, value_name = "DIR", help_heading = "Results", value_parser = output_path())]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long, help_heading = "Results")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) requirements: RequirementArgs,
    /// Print the comparison as JSON.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// Do not print progress.
    #[arg(short, long, help_heading = "Results")]
    pub(crate) quiet: bool,
    /// Print the emulators' command lines and the recipe with all flags applied, and boot nothing. Missing kernels and tools are still downloaded.
    #[arg(long, conflicts_with = "json", help_heading = "What to run")]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) redaction: RedactionFlag,
}

/// `tardy lab verify`.
#[derive(Debug, Args)]
pub(crate) struct LabVerifyArgs {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,

    /// How often to boot each kernel.
    #[arg(long, default_value_t = 5, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) rounds: u32,
    /// Directory for the first run of each kernel, and for every run that differs from it [default: keep none]
    #[arg(short, long, value_name = "DIR", help_heading = "Results", value_parser = output_path())]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long, requires = "output", help_heading = "Results")]
    pub(crate) force: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
}

/// Arguments of both `run` and `verify`.
#[derive(Debug, Args)]
pub(crate) struct ExperimentArgs {
    /// Recipe, by name or path (docs/recipes.md) [default: lab-doload]
    pub(crate) recipe: Option<String>,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
    #[command(flatten)]
    pub(crate) guest: GuestFlags,
    #[command(flatten)]
    pub(crate) flags: RecipeFlags,

    /// Multiply all durations and loop counts by this.
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", value_parser = scale, help_heading = "What to run")]
    pub(crate) scale: f64,
}

/// Flags of the guest that are not recipe keys.
#[derive(Debug, Args)]
#[command(next_help_heading = "Guest")]
pub(crate) struct GuestFlags {
    /// Let the guest's clock follow the host's time instead of counted instructions. For functional tests: latencies are
    /// meaningless.
    #[arg(long)]
    pub(crate) realtime: bool,
    /// Run the guest on the host's CPU with /dev/kvm. Latencies are those of a virtual machine on this host.
    #[arg(long, conflicts_with = "realtime")]
    pub(crate) kvm: bool,
    /// CPUs of a guest with --realtime or --kvm [default: 2]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) guest_cpus: Option<u32>,
    /// Program for the guest, statically linked for its processor [default: tardy-guest-PROCESSOR next to this program or in its ../lib/tardy]
    #[arg(long, value_name = "FILE")]
    pub(crate) guest_tardy: Option<PathBuf>,
    /// End a guest if the emulator uses this much CPU time without output from the guest.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub(crate) patience: PositiveDuration,
    /// Run the emulator unconfined, with all rights of this user. Only for guests that you trust (docs/lab.md).
    #[arg(long)]
    pub(crate) unconfined: bool,
    /// Check the distribution for newer kernels first.
    #[arg(long)]
    pub(crate) refresh: bool,
}

/// `tardy lab kernels`.
#[derive(Debug, Args)]
pub(crate) struct LabKernelsArgs {
    /// Check the distribution for newer kernels first.
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
