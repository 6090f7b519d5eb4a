//! What can be typed. Nothing here asks the machine anything; `resolve.rs` does.

mod check;
mod formats;
mod lab;
mod run;
mod tsn;
mod tsn_simulate;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use check::{CheckArgs, TrialFlags};
pub(crate) use formats::{ExportArgs, ImportArgs};
pub(crate) use lab::{ExperimentArgs, GuestFlags, LabCommand, LabKernelsArgs, LabRunArgs, LabVerifyArgs};
pub(crate) use run::RunArgs;
pub(crate) use tsn::{
    OneSwitchArgs, PlanForm, TsnApplyArgs, TsnCheckArgs, TsnCommand, TsnPlanArgs, TsnRemoveArgs, TsnShowArgs,
    TsnTestArgs, TsnWatchArgs,
};
pub(crate) use tsn_simulate::{SimulatedGates, SimulatedPorts, TsnSimulateArgs};

const EXAMPLES: &str = "\
Examples:
  tardy check                               is this a real-time kernel, and what stands in the way?
  tardy run --load doload --limit 1ms       a minute on every CPU under load, against a need of 1 ms
  tardy run rpi3-4.14 --scale 0.01          an article's experiment, a hundredth of its length
  tardy report before.run.json after.run.json -o both.html
                                            two runs over each other, for people to look at";

/// How late is this Linux? Timers under load, with a report that holds up.
#[derive(Debug, Parser)]
#[command(name = "tardy", version, before_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// What this machine is, whether it is real-time, and what would improve it.
    Check(Box<CheckArgs>),
    /// Measure: run file, summary, and a report if asked for.
    Run(Box<RunArgs>),
    /// A load by itself.
    Load(LoadArgs),
    /// A run's summary and histogram in the terminal.
    Show(ShowArgs),
    /// One HTML file for people to look at, of one run or of several over each other.
    Report(ReportArgs),
    /// The latency plot on its own, as SVG.
    Plot(PlotArgs),
    /// What differs between two or more runs, and whether they may be compared at all.
    Compare(CompareArgs),
    /// Other tools' files as run files: cyclictest's, rtla's, Xenomai's, oslat's and more.
    Import(ImportArgs),
    /// A run as another tool's file: cyclictest's, CSV, HdrHistogram's, OpenMetrics and more.
    Export(ExportArgs),
    /// cyclictest's own command line and output, from tardy's probe (docs/cyclictest.md).
    #[command(disable_help_flag = true)]
    Cyclictest {
        /// As for cyclictest; --help lists them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        words: Vec<std::ffi::OsString>,
    },
    /// What there is to compare with: published results.
    List(ListArgs),
    /// Lines of GPIO chips: which there are, and who has them.
    #[command(subcommand)]
    Gpio(GpioCommand),
    /// The same experiment on emulated machines with real kernels, the same to the byte every time.
    #[command(subcommand)]
    Lab(LabCommand),
    /// A time-aware switch from one file: checked before anything is touched.
    #[command(subcommand)]
    Tsn(TsnCommand),
    /// Undo what a crash left changed in the kernel.
    Restore(RestoreArgs),
    /// The JSON Schema of run files.
    Schema,
    /// Completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Man pages and completions into a directory.
    #[command(name = "__generate", hide = true)]
    Generate {
        /// The directory.
        directory: PathBuf,
    },
    /// The probe process.
    #[command(name = "__probe", hide = true)]
    Probe,
    /// Gives pins back when tardy is gone.
    #[command(name = "__pins", hide = true)]
    PinsGuard {
        /// Settings of the journal, as JSON.
        pins: String,
    },
    /// The first program of a lab's guest.
    #[command(name = "__guest", hide = true)]
    Guest,
    /// What a cycle of another command's real-time thread costs.
    #[command(name = "__thread-cost", hide = true)]
    ThreadCost {
        /// The thread's priority, which nothing else has.
        priority: u32,
        /// How many cycles.
        cycles: u64,
        /// The command.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// timerlat's user thread.
    #[command(name = "__timerlat", hide = true)]
    Timerlat {
        /// The house's process id.
        supervisor_pid: u32,
        /// The CPU.
        cpu: u32,
        /// Real-time priority.
        priority: u32,
        /// The file to read.
        file: PathBuf,
    },
    /// A load's process.
    #[command(name = "__load", hide = true)]
    LoadWorker {
        /// As the load's supervisor has it.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// `tardy gpio …`.
#[derive(Debug, Subcommand)]
pub(crate) enum GpioCommand {
    /// Chips, lines, and who has them.
    List(GpioListArgs),
    /// Makes edges on a line for another board to answer, until Ctrl-C; with --echo, how long that one took.
    Stimulate(GpioStimulateArgs),
}

/// `tardy gpio stimulate`.
#[derive(Debug, Args)]
pub(crate) struct GpioStimulateArgs {
    /// The line that is driven: gpiochip0:17, its chip's label instead, or the line's name.
    #[arg(long, value_name = "CHIP:LINE")]
    pub(crate) out: String,
    /// Time the answers that come back on this line.
    #[arg(long, value_name = "CHIP:LINE")]
    pub(crate) echo: Option<String>,
    /// From one rising edge to the next.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub(crate) period: String,
    /// Put each off at random by up to this [default: a fifth of the period]
    #[arg(long, value_name = "TIME")]
    pub(crate) dither: Option<String>,
    /// Seeds the dither.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// End after this long; without it, at Ctrl-C.
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
}

/// `tardy gpio list`.
#[derive(Debug, Args)]
pub(crate) struct GpioListArgs {
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tardy restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Kernel files, and the journal, under this directory instead.
    #[arg(long, hide = true, default_value = "/")]
    pub(crate) kernel_root: PathBuf,
}

/// `tardy load`.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// doload or any other load (docs/loads.md), cmd:COMMAND, or sink: the other end of doload's network part and of
    /// net.
    pub(crate) name: String,
    /// With sink: the host that measures.
    #[arg(required_if_eq("name", "sink"))]
    pub(crate) host: Option<String>,
    /// End after this long; without it, at Ctrl-C.
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// The other host that doload, net and ping-flood send to.
    #[arg(long, value_name = "HOST")]
    pub(crate) peer: Option<String>,
    /// Seeds the load.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// `tardy show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A run file, or a published result as published:ID.
    pub(crate) run: PathBuf,
    /// The numbers as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tardy list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The results of the articles that tardy repeats.
    #[arg(long, required = true)]
    pub(crate) published: bool,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tardy report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Run files, and published results to set beside them: published:ID ('tardy list --published').
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Where the report goes.
    #[arg(short, long, default_value = "tardy-report.html")]
    pub(crate) output: PathBuf,
    /// Replace the report if it is there.
    #[arg(long)]
    pub(crate) force: bool,
}

/// `tardy plot`.
#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Run files.
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Where the plot goes.
    #[arg(short, long, default_value = "tardy-plot.svg")]
    pub(crate) output: PathBuf,
    /// Replace the plot if it is there.
    #[arg(long)]
    pub(crate) force: bool,
    /// Right end of the latency axis, such as 400us; beyond the worst case by default.
    #[arg(long, value_name = "TIME")]
    pub(crate) x_max: Option<String>,
}

/// `tardy compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Run files, the base first; published results among them, published:ID ('tardy list --published'), are set beside each
    /// run.
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Phases that belong together although their names do not say so: of the base and of the others, each by its name or its
    /// number from 1. Repeat it for more of them; only these are compared.
    #[arg(long = "phase", value_name = "BASE=CANDIDATE")]
    pub(crate) phases: Vec<String>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Compare a run that was traced for causes with one that was not: the trace's own cost is in the difference.
    #[arg(long)]
    pub(crate) force: bool,
}
