//! The definition of the command line. Parsing does not read the machine; `plan` does.

mod archive;
mod attach;
mod check;
mod duration;
mod fleet;
mod formats;
mod gate;
mod gpio;
mod help;
mod lab;
mod lab_options;
mod lab_recipe;
mod manual;
mod plot;
mod redaction;
mod reflect;
mod results;
mod run;
mod serve;
mod suggestion;
mod switch_file;
mod tsn;
mod tsn_bounds;
mod tsn_simulate;
mod tsn_synthesize;
pub mod values;
mod watch;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use tardy_recipe::values::Duration;

pub use archive::{
    ArchiveAddArgs, ArchiveArgs, ArchiveCommand, ArchiveExportArgs, ArchiveFormat, ArchivePruneArgs,
    ArchiveSiteArgs, ArchiveTokenArgs, QueryArgs,
};
pub use attach::{AttachArgs, ExecArgs, ObserveFlags, WatchFlags};
pub use check::{CheckArgs, TrialFlags};
pub use duration::DurationArgs;
pub use fleet::{FleetCommand, FleetRunArgs};
pub use formats::{ExportArgs, ImportArgs};
pub use gate::{BaselineArgs, GateArgs, RequirementArgs};
pub use gpio::{GpioCommand, GpioListArgs, GpioStimulateArgs};
pub use help::command;
pub use lab::{
    BuildSourceArgs, ExperimentArgs, GuestFlags, LabAttachArgs, LabBisectArgs, LabBuildArgs, LabCommand,
    LabExplainArgs, LabHistoryArgs, LabKernelsArgs, LabResultArgs, LabRunArgs, LabSweepArgs, LabVerifyArgs,
};
pub use lab_options::LabOptions;
pub use lab_recipe::LabRecipe;
pub use manual::{EXIT_STATUS, sections as manual_sections};
pub use plot::{FormatArg, KindArg, PlotArgs};
pub use redaction::RedactionFlag;
pub use reflect::ReflectArgs;
pub use results::{CompareArgs, GroupArgs, HistoryArgs, ListArgs, NameArgs, ReportArgs, ShareArgs, ShowArgs};
pub use run::RunArgs;
pub use serve::{PushArgs, ServeArgs};
pub use suggestion::with_similar_suggestion;
pub use tsn::{
    OneSwitchArgs, PlanForm, TsnApplyArgs, TsnCheckArgs, TsnCommand, TsnPlanArgs, TsnRemoveArgs, TsnShowArgs,
    TsnTestArgs, TsnWatchArgs,
};
pub use tsn_bounds::TsnBoundsArgs;
pub use tsn_simulate::{SimulatedGates, SimulatedPorts, TsnSimulateArgs};
pub use tsn_synthesize::TsnSynthesizeArgs;
pub use values::UnitRule;
pub use watch::{LateFlags, WatchArgs};

const EXAMPLES: &str = "\
Examples:
  tardy check                               is this a real-time kernel, and what is missing?
  tardy run --load doload --limit 1ms       measure every CPU under load for a minute, with a limit of 1 ms
  tardy run rpi3-4.14 --scale 0.01          repeat an article's experiment, at a hundredth of its length
  tardy report before.run.json after.run.json -o both.html
                                            compare two runs in one HTML report";

/// Measure how late Linux is: latency of timers, GPIO lines and network frames under load.
#[derive(Debug, Parser)]
#[command(name = "tardy", before_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Report whether this machine is real-time, and what would improve it.
    Check(Box<CheckArgs>),
    /// Measure latency: write a run file, print a summary, and write a report on request.
    Run(Box<RunArgs>),
    /// Watch a program for a time: how late it is, and why.
    Attach(Box<AttachArgs>),
    /// Start a program and watch it from its first cycle.
    Exec(Box<ExecArgs>),
    /// Watch a program all the time; run a command when it is late.
    Watch(Box<WatchArgs>),
    /// Return the requests of `run --probe round-trip`.
    Reflect(ReflectArgs),
    /// Run a load without measuring.
    Load(LoadArgs),
    /// Print a run's summary and histogram, or an overview of a directory.
    Show(ShowArgs),
    /// Write an HTML report of one or more runs, or of a directory.
    Report(ReportArgs),
    /// Draw a plot as SVG, PNG or PDF, and write its data as CSV.
    Plot(PlotArgs),
    /// Compare two or more runs, and check that they are comparable.
    Compare(CompareArgs),
    /// Find where a series of runs changed, and what changed with it.
    History(HistoryArgs),
    /// Print how long to measure to show that a limit is rarely exceeded.
    Duration(DurationArgs),
    /// Judge runs by requirements such as p99.9<500us, for CI systems too (docs/gate.md)
    Gate(GateArgs),
    /// Convert other tools' files to run files: cyclictest, rtla and more.
    Import(ImportArgs),
    /// Convert a run to another tool's format: cyclictest, CSV and more.
    Export(ExportArgs),
    /// Print a link that holds runs, which the page opens (docs/web.md)
    Share(ShareArgs),
    /// Measure with cyclictest's options and output (docs/cyclictest.md).
    #[command(disable_help_flag = true)]
    Cyclictest {
        /// cyclictest's options; --help lists them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        arguments: Vec<std::ffi::OsString>,
    },
    /// List the runs of a directory, ranked, or published results.
    List(ListArgs),
    /// Keep runs in an archive, find and check them (docs/archive.md)
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Serve an archive to people and boards (docs/serve.md)
    Serve(ServeArgs),
    /// Push runs to an archive on another machine (docs/serve.md)
    Push(PushArgs),
    /// Measure on many hosts at a time.
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// Name a run for tables, legends and plots.
    Name(NameArgs),
    /// List and drive lines of GPIO chips.
    #[command(subcommand)]
    Gpio(GpioCommand),
    /// Run experiments on emulated machines with real kernels: the same bytes every time.
    #[command(subcommand)]
    Lab(LabCommand),
    /// Check, simulate, apply and test a time-aware switch described by a file.
    #[command(subcommand)]
    Tsn(TsnCommand),
    /// Seal runs that were cut short: write their last numbers into their files.
    Recover(RecoverArgs),
    /// Undo kernel settings that a crash left changed.
    Restore(RestoreArgs),
    /// Print the JSON Schema of run files.
    Schema,
    /// Print completions for a shell.
    Completions {
        /// Shell.
        shell: clap_complete::Shell,
    },
    /// Write man pages and completions to a directory.
    #[command(name = "__generate", hide = true)]
    Generate {
        /// Directory.
        directory: PathBuf,
    },
    /// Run as the first program of a lab's guest.
    #[command(name = "__guest", hide = true)]
    Guest,
    /// Measure the CPU time of a cycle of another command's real-time thread.
    #[command(name = "__thread-cost", hide = true)]
    ThreadCost {
        /// The thread's real-time priority. No other thread may have it.
        priority: u32,
        /// Number of cycles.
        cycles: u64,
        /// Command.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

/// `tardy recover`.
#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// Run files. Each file and its directory must belong to you.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// Use kernel files and the journal below this directory.
    #[arg(long, hide = true, default_value = "/")]
    pub kernel_root: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy load`.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// Load (docs/loads.md), for example doload or cmd:COMMAND; or sink, the receiver of doload's network part and of net.
    pub name: String,
    /// With sink: the host that measures.
    #[arg(required_if_eq("name", "sink"))]
    pub host: Option<String>,
    /// End after this time [default: at Ctrl-C]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Duration>,
    /// Host that doload, net and ping-flood send to.
    #[arg(long, value_name = "HOST")]
    pub peer: Option<String>,
    /// Seed of the load.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the work and the deaths as JSON at the end, as in a run file.
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_load_on_the_command_line_is_refused() {
        for (arguments, expected) in [
            (&["run", "--load", "dolaod"][..], "expected one of none, doload"),
            (&["check", "--measure", "--load=memory:lots"], "expected 1 to 65536 MiB"),
        ] {
            let error = Cli::try_parse_from(["tardy"].iter().chain(arguments)).unwrap_err().to_string();
            assert!(error.contains("--load") && error.contains(expected), "{error}");
        }
    }
}
