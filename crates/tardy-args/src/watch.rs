//! `tardy watch`, and the options for what is late.

use std::path::PathBuf;

use clap::Args;
use tardy_recipe::values::PositiveDuration;

use super::{ObserveFlags, RedactionFlag};

/// `tardy watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Program: a pid or a name. Processes of this name that start later are watched too.
    #[arg(value_name = "PID|NAME", required_unless_present = "thread", conflicts_with = "thread")]
    pub program: Option<String>,
    /// Watch the threads with this name, of any program.
    #[arg(long, value_name = "NAME")]
    pub thread: Option<String>,
    /// What is late, and what tardy does then.
    #[command(flatten)]
    pub late: LateFlags,
    /// Latest end of a cycle's work after its due time: a cycle that ends later is late too.
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<PositiveDuration>,
    /// Complete a run file this often, and begin the next one.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub every: PositiveDuration,
    /// Stop after this time [default: until the program ends, or Ctrl-C]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<PositiveDuration>,
    /// Directory of the run files; it is made if it does not exist [default: the current one]
    #[arg(short, long, value_name = "DIRECTORY")]
    pub output: Option<PathBuf>,
    /// Keep this many run files, and remove older ones of this watch [default: all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,
    /// Put each complete run into this archive too; it is made if it does not exist (docs/archive.md)
    #[arg(long, value_name = "ARCHIVE")]
    pub keep: Option<PathBuf>,
    /// How the program is observed.
    #[command(flatten)]
    pub observe: ObserveFlags,
    /// Print the last late cycles as JSON at the end.
    #[arg(long)]
    pub json: bool,
    /// Print no progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}

/// What is late, and what tardy does then.
#[derive(Clone, Debug, Args)]
pub struct LateFlags {
    /// Later wake-ups are late: report each, and see --on-late.
    #[arg(long, value_name = "TIME", help_heading = "When it is late")]
    pub late: Option<PositiveDuration>,
    /// Run this command when a wake-up was late, with the variables TARDY_LATE_THREAD, _NS, _CAUSE, _COUNT and _RUN (docs/attach.md)
    #[arg(long, value_name = "COMMAND", requires = "late", help_heading = "When it is late")]
    pub on_late: Option<String>,
    /// Stop when a wake-up was late: the run has the kernel's trace of it.
    #[arg(long, requires = "late", help_heading = "When it is late")]
    pub stop_on_late: bool,
    /// Least time between two reports, and two starts of the command.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1m",
        requires = "late",
        help_heading = "When it is late"
    )]
    pub on_late_distance: PositiveDuration,
    /// Longest time that the command may run. It is ended then, with all processes of its group.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        requires = "on_late",
        help_heading = "When it is late"
    )]
    pub on_late_timeout: PositiveDuration,
}
