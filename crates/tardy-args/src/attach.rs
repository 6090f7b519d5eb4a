//! `tardy attach` and `tardy exec`.

use std::path::PathBuf;

use clap::Args;
use tardy_recipe::values::PositiveDuration;

use super::values::output_path;
use super::{RedactionFlag, RequirementArgs};

/// `tardy attach`.
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// Program: a pid or a name. Processes of this name that start later are watched too.
    #[arg(value_name = "PID|NAME", required_unless_present = "thread", conflicts_with = "thread")]
    pub program: Option<String>,
    /// Watch the threads with this name, of any program.
    #[arg(long, value_name = "NAME")]
    pub thread: Option<String>,
    /// Count cycles for this long [default: 1m]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<PositiveDuration>,
    /// How the program is watched.
    #[command(flatten)]
    pub watch: WatchFlags,
}

/// `tardy exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// Program and its arguments, after `--`.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Count cycles for this long, then end the program [default: until it ends]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<PositiveDuration>,
    /// How the program is watched.
    #[command(flatten)]
    pub watch: WatchFlags,
}

/// How a program is observed by `attach`, `exec` and `watch`.
#[derive(Debug, Args)]
pub struct ObserveFlags {
    /// Observe the threads for this long before cycles are counted.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub warmup: PositiveDuration,
    /// Size of the kernel's trace buffers for each CPU, in KiB [default: 256 MiB for all CPUs, at most 8192]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u32).range(4..=1 << 20))]
    pub buffer: Option<u32>,
    /// Name the places in the program at which late cycles blocked. Costs more: the kernel copies the stack each time a thread blocks.
    #[arg(long)]
    pub places: bool,
}

/// Options of both.
#[derive(Debug, Args)]
pub struct WatchFlags {
    /// Latest end of a cycle's work after its due time [default: the thread's interval]
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<PositiveDuration>,
    /// Limit on the latency of wake-ups: exit status 3 if one is later.
    #[arg(long, value_name = "TIME")]
    pub limit: Option<PositiveDuration>,
    /// How the program is observed.
    #[command(flatten)]
    pub observe: ObserveFlags,
    /// Run file [default: tardy-DATE-TIME.run.json]
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Overwrite the run file if it exists.
    #[arg(long)]
    pub force: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Print no progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// What the run must meet.
    #[command(flatten)]
    pub requirements: RequirementArgs,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}
