//! `tardy lab`: the same experiment on emulated machines and real kernels.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::run::{GpioFlags, NoiseFlags, RunFlags, TimerFlags};

/// `tardy lab …`.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// A recipe on one kernel or several: run files, a comparison and a report.
    Run(Box<LabRunArgs>),
    /// Whether a recipe gives the same bytes every time: alone, beside another guest, and with a hog on the CPU.
    Verify(Box<LabVerifyArgs>),
    /// Kernels that are here, and those that the distribution offers.
    Kernels(LabKernelsArgs),
}

/// `tardy lab run`.
#[derive(Debug, Args)]
pub(crate) struct LabRunArgs {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,

    /// Every article's experiment that the lab can do, one chapter each, in one report.
    #[arg(long, conflicts_with_all = ["recipe", "kernel"], help_heading = "What to run")]
    pub(crate) all: bool,
    /// Directory for the run files, the consoles' logs and the report [default: tardy-lab-RECIPE]
    #[arg(short, long, value_name = "DIR", help_heading = "Results")]
    pub(crate) output: Option<PathBuf>,
    /// Replace files of the same names.
    #[arg(long, help_heading = "Results")]
    pub(crate) force: bool,
    /// The comparison as JSON on standard output.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// No progress on standard error.
    #[arg(short, long, help_heading = "Results")]
    pub(crate) quiet: bool,
    /// Show what would be booted, and boot nothing. Kernels and tools that are not in the cache are fetched all the same.
    #[arg(long, conflicts_with = "json", help_heading = "What to run")]
    pub(crate) dry_run: bool,
}

/// `tardy lab verify`.
#[derive(Debug, Args)]
pub(crate) struct LabVerifyArgs {
    #[command(flatten)]
    pub(crate) experiment: ExperimentArgs,

    /// How often each kernel is booted.
    #[arg(long, default_value_t = 5, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) rounds: u32,
    /// Directory for the first run of each kernel, and for every run that differs from it [default: none is kept]
    #[arg(short, long, value_name = "DIR", help_heading = "Results")]
    pub(crate) output: Option<PathBuf>,
    /// Replace files of the same names.
    #[arg(long, requires = "output", help_heading = "Results")]
    pub(crate) force: bool,
}

/// What is the same for running and verifying.
#[derive(Debug, Args)]
pub(crate) struct ExperimentArgs {
    /// A recipe, by name or path (docs/recipes.md) [default: lab-quick]
    pub(crate) recipe: Option<String>,

    #[command(flatten)]
    pub(crate) guest: GuestFlags,
    #[command(flatten)]
    pub(crate) run: RunFlags,
    #[command(flatten)]
    pub(crate) timer: TimerFlags,
    #[command(flatten)]
    pub(crate) noise: NoiseFlags,
    #[command(flatten)]
    pub(crate) gpio: GpioFlags,

    /// Multiply every duration and loop count.
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", help_heading = "What to run")]
    pub(crate) scale: f64,
}

/// The `[lab]` keys of a recipe as flags, and what only this machine can say.
#[derive(Debug, Args)]
#[command(next_help_heading = "Guest")]
pub(crate) struct GuestFlags {
    /// A kernel: debian:6.12, debian:6.12-rt, or a path to an image, each with ,append='WORDS' and, for a path,
    /// ,modules=DIR; give several to compare them [default: debian:6.12 and debian:6.12-rt]
    #[arg(short, long, value_name = "KERNEL")]
    pub(crate) kernel: Vec<String>,
    /// pc, virt or raspi3b [default: pc]
    #[arg(long)]
    pub(crate) machine: Option<String>,
    /// Memory in MiB [default: 512]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(64..=65536))]
    pub(crate) memory: Option<u32>,
    /// The host's time instead of counted instructions, for functional runs: latencies mean nothing.
    #[arg(long)]
    pub(crate) realtime: bool,
    /// The host's own CPU, by /dev/kvm: latencies are those of a virtual machine of this host.
    #[arg(long, conflicts_with = "realtime")]
    pub(crate) kvm: bool,
    /// How many CPUs a guest has with --realtime or --kvm [default: 2]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) guest_cpus: Option<u32>,
    /// tardy for the guest, statically linked for its processor [default: tardy-guest-PROCESSOR beside this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) guest_tardy: Option<PathBuf>,
    /// How long the emulator may work without a word from the guest, in its CPU time.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub(crate) patience: String,
    /// Ask the distribution for newer kernels first.
    #[arg(long)]
    pub(crate) refresh: bool,
}

/// `tardy lab kernels`.
#[derive(Debug, Args)]
pub(crate) struct LabKernelsArgs {
    /// Ask the distribution anew what it offers.
    #[arg(long)]
    pub(crate) refresh: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
