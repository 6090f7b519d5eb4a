//! Commands that read runs, and `tardy name`.

use std::path::PathBuf;

use clap::Args;
use tardy_compare::overview::SortKey;
use tardy_compare::versus::Factor;
use tardy_recipe::values::PositiveDuration;

use super::RedactionFlag;
use super::values::{RunName, output_path, probability, run_name};

/// `tardy show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Run file; a directory, for an overview of its runs; a link of 'tardy share'; or a published result as published:ID.
    pub(crate) run: PathBuf,
    /// Judge this limit instead of the run's own, such as 100us.
    #[arg(long, value_name = "TIME")]
    pub(crate) limit: Option<PositiveDuration>,
    /// Show the levels that are exceeded once per hour, day or week, and the checks of them.
    #[arg(long)]
    pub(crate) tail: bool,
    /// Print the numbers as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) redaction: RedactionFlag,
}

/// `tardy share`.
#[derive(Debug, Args)]
pub(crate) struct ShareArgs {
    /// Run files, up to four; the first is the base of a comparison.
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Do not redact this field, or the fields below it, such as origin.name or facts.machine. May be repeated.
    #[arg(long, value_name = "FACT")]
    pub(crate) keep: Vec<String>,
    /// Address of the page that the link opens.
    #[arg(long, value_name = "URL", default_value = tardy_share::link::BASE)]
    pub(crate) base: String,
    /// Print Markdown for a forum or a pull request: the result, a histogram of characters, and the link.
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tardy list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Directories, and run files to list with theirs.
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) directories: Vec<PathBuf>,
    /// Sort by this column: worst, p99.9, count, interval, name, kernel, load, validity or date [default: worst]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) sort: Option<SortKey>,
    /// Reverse the order.
    #[arg(long)]
    pub(crate) reverse: bool,
    /// List the results of the articles that tardy repeats instead.
    #[arg(long, conflicts_with_all = ["directories", "sort", "reverse"])]
    pub(crate) published: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tardy history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Run files, and directories of run files.
    #[arg(required = true, value_name = "RUN|DIR")]
    pub(crate) runs: Vec<PathBuf>,
    /// Also write a page with the figures of every run.
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the page if it exists.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// The highest probability that a change is one by chance only: 0.001, 0.1%
    #[arg(long, value_name = "SHARE", default_value = "0.1%", value_parser = probability)]
    pub(crate) significance: f64,
    /// Leave out changes by less than this: 0.05, 5%
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = probability)]
    pub(crate) least_change: f64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tardy report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Run files, and published results to show next to them as published:ID ('tardy list --published'). With a directory,
    /// the report is an overview of all runs.
    #[arg(required_unless_present = "base", conflicts_with = "base", value_name = "RUN|DIR")]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) groups: GroupArgs,
    /// Report file.
    #[arg(short, long, default_value = "tardy-report.html", value_parser = output_path())]
    pub(crate) output: PathBuf,
    /// Overwrite the report if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) redaction: RedactionFlag,
}

/// `tardy compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Run files, the base first, and published results to show next to them as published:ID ('tardy list --published').
    #[arg(required_unless_present = "base", conflicts_with = "base", num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) groups: GroupArgs,
    /// Compare only this pair of phases, whose names may differ. Each is given by its name or its number from 1. May be
    /// repeated.
    #[arg(long = "phase", value_name = "BASE=CANDIDATE", conflicts_with = "base")]
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

/// Two groups of runs, one run or more of each boot.
#[derive(Debug, Args)]
#[command(next_help_heading = "Two groups of boots")]
pub(crate) struct GroupArgs {
    /// Run files of the base, of at least 4 boots for a test (docs/compare.md)
    #[arg(long, num_args = 1.., value_name = "RUN", requires = "candidate")]
    pub(crate) base: Vec<PathBuf>,
    /// Run files of the candidate.
    #[arg(long, num_args = 1.., value_name = "RUN", requires = "base")]
    pub(crate) candidate: Vec<PathBuf>,
    /// What the groups differ in: kernel (version and configuration), cmdline, recipe, or the name of a fact. Everything
    /// else must agree.
    #[arg(long, value_name = "FACTOR", default_value = "kernel", requires = "base")]
    pub(crate) factor: Factor,
    /// Also compare how often this limit is exceeded [default: the limit of the runs]
    #[arg(long, value_name = "TIME", requires = "base")]
    pub(crate) limit: Option<PositiveDuration>,
}

/// `tardy name`.
#[derive(Debug, Args)]
pub(crate) struct NameArgs {
    /// Run file. The file and its directory must belong to you.
    pub(crate) run: PathBuf,
    /// Name for tables, legends and plots; "" removes the name, so that the run is named after its file.
    #[arg(value_parser = run_name)]
    pub(crate) name: RunName,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
