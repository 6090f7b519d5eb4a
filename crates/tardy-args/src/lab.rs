//! `tardy lab`: experiments on emulated machines.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tardy_lab::arch::Arch;
use tardy_recipe::options::RecipeFlags;
use tardy_recipe::values::{PositiveDuration, by_name, scale};
use tardy_search::configuration::Setting;
use tardy_search::measure::{Condition, Measure};
use tardy_search::sweep::SweptOption;

use super::LabOptions;
use super::RedactionFlag;
use super::RequirementArgs;
use super::values::{KernelChoice, cycles, output_path};

/// `tardy lab …`.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Run a recipe on one or more kernels, compare the runs, and write run files and a report.
    Run(Box<LabRunArgs>),
    /// Watch a program on lab kernels, as `tardy exec` does on this machine (docs/attach.md).
    Attach(Box<LabAttachArgs>),
    /// Boot the guest of a run again, watch every instruction, and say what a late wake-up consisted of (docs/explain.md).
    Explain(Box<LabExplainArgs>),
    /// Check that a recipe yields the same bytes every time: alone, with other guests running, and with a load on its CPU.
    Verify(Box<LabVerifyArgs>),
    /// Build a kernel for the lab from Debian's source, a directory or a git tree (docs/kernels.md).
    Build(LabBuildArgs),
    /// Find the version of Debian's kernel, the commit, the options of the configuration or the words of the command line that made a
    /// run bad (docs/which-kernel.md).
    Bisect(Box<LabBisectArgs>),
    /// Run a recipe with settings of the kernel's command line or configuration, and rank them by a number of the run
    /// (docs/which-kernel.md).
    Sweep(Box<LabSweepArgs>),
    /// Run a recipe on versions of the kernel, find the steps between them, and write a site (docs/which-kernel.md).
    History(Box<LabHistoryArgs>),
    /// List kernels in the cache and kernels that the distribution offers.
    Kernels(LabKernelsArgs),
}

/// `tardy lab run`.
#[derive(Debug, Args)]
pub struct LabRunArgs {
    /// What is measured, on which kernels.
    #[command(flatten)]
    pub experiment: ExperimentArgs,

    /// Run with this many seeds, of which the recipe's is the first, and show how much the maxima depend on them.
    #[arg(
        long,
        default_value_t = 1,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with = "all",
        help_heading = "What to run"
    )]
    pub seeds: u32,
    /// Boot each kernel this many times, each boot with another seed, and compare the kernels boot by boot: the seed moves the
    /// loads, the dither and the time between boot and measurement. At least 4 for a test (docs/compare.md)
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with_all = ["all", "seeds"],
        help_heading = "What to run"
    )]
    pub rounds: Option<u32>,
    /// Run the experiments of all articles, and write one report with a chapter for each.
    #[arg(long, conflicts_with_all = ["recipe", "kernel", "source"], help_heading = "What to run")]
    pub all: bool,
    /// Where the results go.
    #[command(flatten)]
    pub results: LabResultArgs,
}

/// Results of `run` and `attach`.
#[derive(Debug, Args)]
pub struct LabResultArgs {
    /// Directory for run files, console logs and the report [default: tardy-lab-RECIPE]
    #[arg(short, long, value_name = "DIR", help_heading = "Results", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long, help_heading = "Results")]
    pub force: bool,
    /// What is required of the runs.
    #[command(flatten)]
    pub requirements: RequirementArgs,
    /// Print the comparison as JSON.
    #[arg(long, help_heading = "Results")]
    pub json: bool,
    /// Do not print progress.
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,
    /// Print the emulators' command lines and the recipe with all flags applied, and boot nothing. Missing kernels and tools are still downloaded.
    #[arg(long, conflicts_with = "json", help_heading = "What to run")]
    pub dry_run: bool,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}

/// `tardy lab attach`.
#[derive(Debug, Args)]
pub struct LabAttachArgs {
    /// Program, statically linked for the guest's processor, and its arguments, after `--`.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Count cycles for this long, then end the program [default: until it ends]
    #[arg(long, value_name = "TIME", help_heading = "What to run")]
    pub duration: Option<PositiveDuration>,
    /// Latest end of a cycle's work after its due time [default: the thread's interval]
    #[arg(long, value_name = "TIME", help_heading = "What to run")]
    pub deadline: Option<PositiveDuration>,
    /// Limit on the latency of wake-ups: exit status 3 if one is later.
    #[arg(long, value_name = "TIME", help_heading = "What to run")]
    pub limit: Option<PositiveDuration>,
    /// Observe the threads for this long before cycles are counted.
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "What to run")]
    pub warmup: PositiveDuration,
    /// The emulated machine.
    #[command(flatten)]
    pub lab: LabOptions,
    /// How the guest runs.
    #[command(flatten)]
    pub guest: GuestFlags,
    /// Where the results go.
    #[command(flatten)]
    pub results: LabResultArgs,
}

/// `tardy lab explain`.
#[derive(Debug, Args)]
pub struct LabExplainArgs {
    /// Run file of the lab, or a recipe that is measured first; of two, the wake-ups are explained and compared: the ordinary ones and
    /// the worst, unless others are chosen.
    #[arg(required = true, num_args = 1..=2)]
    pub runs: Vec<PathBuf>,
    /// Kernel on which a recipe is measured, as in `tardy lab run`; may be given twice to compare [default: debian:6.12 and debian:6.12-rt]
    #[arg(short, long, value_name = "KERNEL", help_heading = "What to explain")]
    pub kernel: Vec<String>,
    /// Explain wake-ups of this phase only.
    #[arg(long, value_name = "LABEL", help_heading = "What to explain")]
    pub phase: Option<String>,
    /// Explain the wake-ups of this cycle, or of cycles FIRST-LAST, instead of the worst. May be given several times.
    #[arg(long, value_name = "CYCLE", value_parser = cycles, conflicts_with_all = ["quantile", "median"], help_heading = "What to explain")]
    pub at: Vec<RangeInclusive<u64>>,
    /// Explain a wake-up that is as late as this quantile, instead of the worst: for example p99.
    #[arg(long, value_name = "QUANTILE", conflicts_with = "median", value_parser = quantile, help_heading = "What to explain")]
    pub quantile: Option<f64>,
    /// Explain the ordinary wake-up: the same as --quantile p50.
    #[arg(long, help_heading = "What to explain")]
    pub median: bool,
    /// Also count all sections of the run with interrupts or preemption off, and interrupts; for PREEMPT_RT with the bound of a model.
    #[arg(long, help_heading = "What to explain")]
    pub census: bool,
    /// Also list the functions that turn interrupts or preemption off and never ran; of two runs, those that ran in one only.
    #[arg(long, help_heading = "What to explain")]
    pub coverage: bool,
    /// Also count the instructions of the boot, up to the first program, by function.
    #[arg(long, help_heading = "What to explain")]
    pub boot: bool,
    /// Write the explanation into this file: a page (.html), for flame graphs (.folded), for speedscope (.trace.json), or
    /// with all details (.json). May be given several times.
    #[arg(short, long, value_name = "FILE", help_heading = "Results", value_parser = output_path())]
    pub output: Vec<PathBuf>,
    /// Overwrite existing files.
    #[arg(long, requires = "output", help_heading = "Results")]
    pub force: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Results")]
    pub json: bool,
    /// Do not print progress.
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,
    /// Leave out functions with less than this share of the wake-up, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = percent, help_heading = "Results")]
    pub least: f64,
    /// The library that QEMU loads to watch the guest [default: tardy-observer-qemu7.so or -qemu9.so next to this program or in its ../lib/tardy]
    #[arg(long, value_name = "FILE", help_heading = "Guest")]
    pub observer: Option<PathBuf>,
    /// End the guest if the emulator uses this much CPU time without output from the guest.
    #[arg(long, value_name = "TIME", default_value = "5m", help_heading = "Guest")]
    pub patience: PositiveDuration,
    /// Run the emulator unconfined, with all rights of this user. Only for guests that you trust (docs/lab.md).
    #[arg(long, help_heading = "Guest")]
    pub unconfined: bool,
}

/// A quantile such as `p99.9`, as a share.
fn quantile(text: &str) -> Result<f64, String> {
    let wrong = || format!("'{text}': expected a quantile above p0 and below p100, for example p99.9");
    let percent: f64 = text.strip_prefix('p').and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
    if percent > 0.0 && percent < 100.0 { Ok(percent / 100.0) } else { Err(wrong()) }
}

/// A share in percent.
fn percent(text: &str) -> Result<f64, String> {
    let wrong = || format!("'{text}': expected a number from 0 to 100");
    let percent: f64 = text.parse().map_err(|_| wrong())?;
    if (0.0..=100.0).contains(&percent) { Ok(percent) } else { Err(wrong()) }
}

/// `tardy lab verify`.
#[derive(Debug, Args)]
pub struct LabVerifyArgs {
    /// What is measured, on which kernels.
    #[command(flatten)]
    pub experiment: ExperimentArgs,

    /// How often to boot each kernel.
    #[arg(long, default_value_t = 5, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub rounds: u32,
    /// Directory for the first run of each kernel, and for every run that differs from it [default: keep none]
    #[arg(short, long, value_name = "DIR", help_heading = "Results", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long, requires = "output", help_heading = "Results")]
    pub force: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Results")]
    pub json: bool,
}

/// Arguments of both `run` and `verify`.
#[derive(Debug, Args)]
pub struct ExperimentArgs {
    /// Recipe, by name or path (docs/recipes.md) [default: lab-doload]
    pub recipe: Option<String>,

    /// How kernels are built.
    #[command(flatten)]
    pub build: Option<BuildSourceArgs>,
    /// The emulated machine.
    #[command(flatten)]
    pub lab: LabOptions,
    /// How the guest runs.
    #[command(flatten)]
    pub guest: GuestFlags,
    /// The options that a recipe has too.
    #[command(flatten)]
    pub flags: RecipeFlags,

    /// Multiply all durations and loop counts by this.
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", value_parser = scale, help_heading = "What to run")]
    pub scale: f64,
}

/// Flags of the guest that are not recipe keys.
#[derive(Debug, Args)]
#[command(next_help_heading = "Guest")]
pub struct GuestFlags {
    /// Let the guest's clock follow the host's time instead of counted instructions. For functional tests: latencies are
    /// meaningless.
    #[arg(long)]
    pub realtime: bool,
    /// Run the guest on the host's CPU with /dev/kvm. Latencies are those of a virtual machine on this host.
    #[arg(long, conflicts_with = "realtime")]
    pub kvm: bool,
    /// CPUs of a guest with --realtime or --kvm [default: 2]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub guest_cpus: Option<u32>,
    /// Program for the guest, statically linked for its processor [default: tardy-guest-PROCESSOR next to this program or in its ../lib/tardy]
    #[arg(long, value_name = "FILE")]
    pub guest_tardy: Option<PathBuf>,
    /// End a guest if the emulator uses this much CPU time without output from the guest.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub patience: PositiveDuration,
    /// Run the emulator unconfined, with all rights of this user. Only for guests that you trust (docs/lab.md).
    #[arg(long)]
    pub unconfined: bool,
    /// Check the distribution for newer kernels first.
    #[arg(long)]
    pub refresh: bool,
}

/// `tardy lab build`.
#[derive(Debug, Args)]
#[command(mut_arg("source", |source| source.required(true)))]
pub struct LabBuildArgs {
    /// What the kernel is built from.
    #[command(flatten)]
    pub from: BuildSourceArgs,
    /// Commit, of a source that is the directory of a git repository [default: the directory's files as they are]
    #[arg(long, value_name = "COMMIT", help_heading = "What to build")]
    pub rev: Option<String>,
    /// Processor: x86_64, or aarch64 with Debian's cross compiler.
    #[arg(long, value_parser = by_name::<Arch>, default_value = "x86_64", help_heading = "What to build")]
    pub arch: Arch,
    /// Name of the kernel, which is then build:NAME [default: the beginning of the hash of everything that it was made of]
    #[arg(long, value_name = "NAME", help_heading = "Results")]
    pub name: Option<String>,
    /// Print JSON.
    #[arg(long, help_heading = "Results")]
    pub json: bool,
}

/// What kernels are built of.
#[derive(Debug, Args)]
pub struct BuildSourceArgs {
    /// Source of a kernel to build: debian:6.12 (the package linux-source-6.12), debian:6.12=VERSION, or a directory.
    #[arg(long, value_name = "SOURCE", required = false, help_heading = "What to build")]
    pub source: String,
    /// Configuration to begin with [default: the least that the lab needs, which is built in minutes]
    #[arg(long, value_name = "FILE", requires = "source", help_heading = "What to build")]
    pub config: Option<PathBuf>,
    /// Options to set in it: PREEMPT_RT=y,HZ=1000
    #[arg(
        long,
        value_name = "OPTION=VALUE",
        value_delimiter = ',',
        requires = "source",
        help_heading = "What to build"
    )]
    pub set: Vec<Setting>,
}

/// `tardy lab bisect`.
#[derive(Debug, Args)]
pub struct LabBisectArgs {
    /// What is measured, on which kernels.
    #[command(flatten)]
    pub experiment: ExperimentArgs,

    /// A kernel that is good: debian:6.12-rt, debian:6.12-rt=VERSION, build:NAME, or one with words for its command line:
    /// debian:6.12,append='WORDS'; with --source, a commit.
    #[arg(long, value_name = "KERNEL", help_heading = "What to search")]
    pub good: String,
    /// A kernel that is bad: another version, another build of the same source, or the same kernel with other words; with --source, a
    /// commit.
    #[arg(long, value_name = "KERNEL", help_heading = "What to search")]
    pub bad: String,
    /// Which runs are bad: 'p99>12us', 'idle:max>30us', 'P(>20us)>1e-3'. Without a phase, of the loaded phases.
    #[arg(long, value_name = "CONDITION", help_heading = "What to search")]
    pub measure: Condition,
    /// Directory of the run files: a guest of which it has a run of the same identity is not run again [default:
    /// tardy-lab-bisect-RECIPE]
    #[arg(short, long, value_name = "DIR", help_heading = "Results", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, help_heading = "Results")]
    pub json: bool,
    /// Do not print progress.
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,
}

/// `tardy lab sweep`.
#[derive(Debug, Args)]
pub struct LabSweepArgs {
    /// What is measured, on which kernels.
    #[command(flatten)]
    pub experiment: ExperimentArgs,

    /// Parameter of the kernel's command line and the values to try: preempt=none,full. A word without a value is tried once. In
    /// capital letters, an option of the configuration of a kernel build:NAME, of which each value is built: HZ=100,1000. May be
    /// given several times.
    #[arg(long, required = true, value_name = "NAME=VALUE,VALUE", help_heading = "What to try")]
    pub option: Vec<SweptOption>,
    /// Try all combinations of the options' values, instead of each value alone.
    #[arg(long, help_heading = "What to try")]
    pub combinations: bool,
    /// Number that ranks the settings: p50, p99, p99.9, mean, min, max or P(>20us). Without a phase, of the loaded phases.
    #[arg(long, value_name = "NUMBER", default_value = "p99", help_heading = "What to try")]
    pub measure: Measure,
    /// Run each setting with this many seeds, of which the recipe's is the first.
    #[arg(long, default_value_t = 1, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "What to try")]
    pub seeds: u32,
    /// Directory of the run files: a guest of which it has a run of the same identity is not run again [default:
    /// tardy-lab-sweep-RECIPE]
    #[arg(short, long, value_name = "DIR", help_heading = "Results", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, help_heading = "Results")]
    pub json: bool,
    /// Do not print progress.
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,
}

/// `tardy lab history`.
#[derive(Debug, Args)]
pub struct LabHistoryArgs {
    /// What is measured, on which kernels.
    #[command(flatten)]
    pub experiment: ExperimentArgs,

    /// Run each kernel with this many seeds, of which the recipe's is the first. Ten kernels need at least 9 for a step to be claimed.
    #[arg(long, default_value_t = 10, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "What to run")]
    pub seeds: u32,
    /// Directory of the site and its run files: a guest of which it has a run of the same identity is not run again.
    #[arg(short, long, value_name = "DIR", help_heading = "Results", value_parser = output_path())]
    pub output: PathBuf,
    /// Write into a directory that has a page of something else.
    #[arg(long, help_heading = "Results")]
    pub force: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Results")]
    pub json: bool,
    /// Do not print progress.
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,
}

/// `tardy lab kernels`.
#[derive(Debug, Args)]
pub struct LabKernelsArgs {
    /// Kernels to list, as for --kernel: for example debian:6.12.*-rt lists every version of 6.12-rt [default: those of the cache, and
    /// the newest of every series that the distribution offers]
    pub kernels: Vec<KernelChoice>,
    /// Reduce the cache: pack kernels, and remove modules that no recipe names, and kernel headers, which are downloaded again when
    /// they are needed. Kernels that were built here are removed with their sources.
    #[arg(long, conflicts_with_all = ["refresh", "kernels"])]
    pub prune: bool,
    /// Check the distribution for newer kernels first.
    #[arg(long)]
    pub refresh: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
