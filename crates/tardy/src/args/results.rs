//! Commands that read runs: `tardy show`, `list`, `report`, `plot` and `compare`.

use std::path::PathBuf;

use clap::Args;
use tardy_recipe::values::Duration;

use super::RedactionFlag;
use super::values::output_path;

/// `tardy show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Run file, or a published result as published:ID.
    pub(crate) run: PathBuf,
    /// Print the numbers as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) redaction: RedactionFlag,
}

/// `tardy list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// List the results of the articles that tardy repeats.
    #[arg(long, required = true)]
    pub(crate) published: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tardy report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Run files, and published results to show next to them as published:ID ('tardy list --published').
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Report file.
    #[arg(short, long, default_value = "tardy-report.html", value_parser = output_path())]
    pub(crate) output: PathBuf,
    /// Overwrite the report if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) redaction: RedactionFlag,
}

/// `tardy plot`.
#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Run files.
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Plot file.
    #[arg(short, long, default_value = "tardy-plot.svg", value_parser = output_path())]
    pub(crate) output: PathBuf,
    /// Overwrite the plot if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// Right end of the latency axis, such as 400us [default: beyond the worst case]
    #[arg(long, value_name = "TIME")]
    pub(crate) x_max: Option<Duration>,
    #[command(flatten)]
    pub(crate) redaction: RedactionFlag,
}

/// `tardy compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Run files, the base first, and published results to show next to them as published:ID ('tardy list --published').
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Compare only this pair of phases, whose names may differ. Each is given by its name or its number from 1. May be
    /// repeated.
    #[arg(long = "phase", value_name = "BASE=CANDIDATE")]
    pub(crate) phases: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Compare a run that was traced for causes with one that was not. The difference includes the cost of tracing.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) redaction: RedactionFlag,
}
