//! Commands that read runs, and `tardy name`.

use std::path::PathBuf;

use clap::Args;
use tardy_compare::overview::SortKey;
use tardy_compare::versus::Factor;
use tardy_recipe::values::PositiveDuration;

use super::values::{RunName, output_path, probability, run_name};
use super::{QueryArgs, RedactionFlag};

/// `tardy show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Run file; a directory, for an overview of its runs; a link of 'tardy share'; or a published result as published:ID.
    pub run: PathBuf,
    /// Judge this limit instead of the run's own, such as 100us.
    #[arg(long, value_name = "TIME")]
    pub limit: Option<PositiveDuration>,
    /// Show the levels that are exceeded once per hour, day or week, and the checks of them.
    #[arg(long)]
    pub tail: bool,
    /// Print the numbers as JSON.
    #[arg(long)]
    pub json: bool,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}

/// `tardy share`.
#[derive(Debug, Args)]
pub struct ShareArgs {
    /// Run files, up to four; the first is the base of a comparison.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Do not redact this field, or the fields below it, such as origin.name or facts.machine. May be repeated.
    #[arg(long, value_name = "FACT")]
    pub keep: Vec<String>,
    /// Address of the page that the link opens.
    #[arg(long, value_name = "URL", default_value = tardy_share::link::BASE)]
    pub base: String,
    /// Print Markdown for a forum or a pull request: the result, a histogram of characters, and the link.
    #[arg(long)]
    pub markdown: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Directories, archives, and run files to list with theirs.
    #[arg(default_value = ".", value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// Which runs are listed.
    #[command(flatten)]
    pub query: QueryArgs,
    /// Sort by this column: worst, p99.9, count, interval, name, kernel, load, validity or date [default: worst]
    #[arg(long, value_name = "COLUMN")]
    pub sort: Option<SortKey>,
    /// Reverse the order.
    #[arg(long)]
    pub reverse: bool,
    /// List the results of the articles that tardy repeats instead.
    #[arg(long, conflicts_with_all = ["directories", "sort", "reverse"])]
    pub published: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Run files, directories of run files, and archives.
    #[arg(required = true, value_name = "RUN|DIR")]
    pub runs: Vec<PathBuf>,
    /// Which of their runs are followed.
    #[command(flatten)]
    pub query: QueryArgs,
    /// Also write a page with the figures of every run.
    #[arg(short, long, value_name = "FILE", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Overwrite the page if it exists.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// The highest probability that a change is one by chance only: 0.001, 0.1%
    #[arg(long, value_name = "SHARE", default_value = "0.1%", value_parser = probability)]
    pub significance: f64,
    /// Leave out changes by less than this: 0.05, 5%
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = probability)]
    pub least_change: f64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run files, and published results to show next to them as published:ID ('tardy list --published'). With a directory,
    /// the report is an overview of all runs.
    #[arg(required_unless_present = "base", conflicts_with = "base", value_name = "RUN|DIR")]
    pub runs: Vec<PathBuf>,
    /// Which runs of a directory or an archive are shown.
    #[command(flatten)]
    pub query: QueryArgs,
    /// The runs to compare, in groups.
    #[command(flatten)]
    pub groups: GroupArgs,
    /// Report file.
    #[arg(short, long, default_value = "tardy-report.html", value_parser = output_path())]
    pub output: PathBuf,
    /// Overwrite the report if it exists.
    #[arg(long)]
    pub force: bool,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}

/// `tardy compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Run files, the base first, and published results to show next to them as published:ID ('tardy list --published').
    #[arg(required_unless_present = "base", conflicts_with = "base", num_args = 2.., value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The runs to compare, in groups.
    #[command(flatten)]
    pub groups: GroupArgs,
    /// Compare only this pair of phases, whose names may differ. Each is given by its name or its number from 1. May be
    /// repeated.
    #[arg(long = "phase", value_name = "BASE=CANDIDATE", conflicts_with = "base")]
    pub phases: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Print the tables of runs that are not comparable, for example under another load. Their differences have several
    /// causes.
    #[arg(long, alias = "force", conflicts_with = "base")]
    pub anyway: bool,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}

/// Two groups of runs, one run or more of each boot.
#[derive(Debug, Args)]
#[command(next_help_heading = "Two groups of boots")]
pub struct GroupArgs {
    /// Run files of the base, of at least 4 boots for a test (docs/compare.md)
    #[arg(long, num_args = 1.., value_name = "RUN", requires = "candidate")]
    pub base: Vec<PathBuf>,
    /// Run files of the candidate.
    #[arg(long, num_args = 1.., value_name = "RUN", requires = "base")]
    pub candidate: Vec<PathBuf>,
    /// What the groups differ in: kernel (version and configuration), cmdline, recipe, or the name of a fact. Everything
    /// else must agree.
    #[arg(long, value_name = "FACTOR", default_value = "kernel", requires = "base")]
    pub factor: Factor,
    /// Also compare how often this limit is exceeded [default: the limit of the runs]
    #[arg(long, value_name = "TIME", requires = "base")]
    pub limit: Option<PositiveDuration>,
}

impl GroupArgs {
    /// The files of both groups, those of the base first.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.base.iter().chain(&self.candidate).cloned().collect()
    }
}

/// `tardy name`.
#[derive(Debug, Args)]
pub struct NameArgs {
    /// Run file. The file and its directory must belong to you.
    pub run: PathBuf,
    /// Name for tables, legends and plots; "" removes the name, so that the run is named after its file.
    #[arg(value_parser = run_name)]
    pub name: RunName,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
