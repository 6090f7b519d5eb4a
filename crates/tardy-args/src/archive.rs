//! `tardy archive`, and the search for runs.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use tardy_analyse::judgement::Judgement;
use tardy_archive::{ConfigOption, Day, KernelRange, Query};
use tardy_recipe::values::PositiveDuration;
use tardy_record::facts::Preemption;

use super::values::{judgement, output_path, preemption};

/// The commands of `tardy archive`.
#[derive(Debug, Subcommand)]
pub enum ArchiveCommand {
    /// Add run files, and directories of them, to an archive, and make it if it does not exist.
    Add(ArchiveAddArgs),
    /// Write all runs of an archive as Parquet files, which DuckDB, Spark and ClickHouse read.
    Export(ArchiveExportArgs),
    /// Make the index of an archive again from its run files.
    Index(ArchiveArgs),
    /// Write an archive as a static site: boards, kernels, changes and reports.
    Site(ArchiveSiteArgs),
    /// Check that every run of an archive is what it was.
    Verify(ArchiveArgs),
    /// Delete runs that are no longer needed, with a line in the audit log for each.
    Prune(ArchivePruneArgs),
    /// Make, list and revoke the tokens of the archive's server.
    Token(ArchiveTokenArgs),
    /// Print who pushed and deleted runs, set states of alerts, and made tokens.
    Audit(ArchiveArgs),
}

impl ArchiveCommand {
    /// The archive.
    pub fn archive(&self) -> &Path {
        match self {
            Self::Add(arguments) => &arguments.archive,
            Self::Export(arguments) => &arguments.archive,
            Self::Index(arguments) => &arguments.archive,
            Self::Site(arguments) => &arguments.archive,
            Self::Verify(arguments) | Self::Audit(arguments) => &arguments.archive,
            Self::Prune(arguments) => &arguments.archive,
            Self::Token(arguments) => &arguments.archive,
        }
    }
}

/// `tardy archive add`.
#[derive(Debug, Args)]
pub struct ArchiveAddArgs {
    /// Archive: a directory that 'tardy archive add' makes, or a file that names services (docs/scaling.md).
    #[arg(value_name = "ARCHIVE")]
    pub archive: PathBuf,
    /// Run files, and directories of them; - for one from standard input. Files of other tools: 'tardy import FILE… --keep ARCHIVE'.
    #[arg(required = true, value_name = "RUN|DIR")]
    pub runs: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy archive export`.
#[derive(Debug, Args)]
pub struct ArchiveExportArgs {
    /// Archive.
    pub archive: PathBuf,
    /// Format.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub to: ArchiveFormat,
    /// Directory of the files. Of an export that is there, only the days whose runs changed are written.
    #[arg(short, long, value_name = "DIR", value_parser = output_path())]
    pub output: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What an archive is exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArchiveFormat {
    /// Tables of runs, series, histograms, facts and kernel options, partitioned by day.
    Parquet,
}

/// `tardy archive index`, `tardy archive verify` and `tardy archive audit`.
#[derive(Debug, Args)]
pub struct ArchiveArgs {
    /// Archive.
    pub archive: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy archive site`.
#[derive(Debug, Args)]
pub struct ArchiveSiteArgs {
    /// Archive.
    pub archive: PathBuf,
    /// Directory of the site. Of a site that is there, only what changed is written.
    #[arg(short, long, value_name = "DIR", value_parser = output_path())]
    pub output: PathBuf,
    /// Write reports of this many newest runs of each board, and compare each with the one before it.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub reports: usize,
    /// Overwrite an index.html that is not of an archive's site.
    #[arg(long)]
    pub force: bool,
}

/// `tardy archive prune`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("rule").multiple(true).required(true).args([
    "older_than", "keep_newest", "query_board", "query_kernel", "query_preemption", "query_config", "query_load", "query_since",
    "query_until", "query_verdict", "query_limit", "query_cause",
]))]
pub struct ArchivePruneArgs {
    /// Archive.
    pub archive: PathBuf,
    /// Delete only runs that started more than this many days ago. Runs of which the day is unknown are kept.
    #[arg(long, value_name = "DAYS")]
    pub older_than: Option<u32>,
    /// Keep this many newest runs of each board, whatever the other conditions are.
    #[arg(long, value_name = "N")]
    pub keep_newest: Option<usize>,
    /// Which runs are deleted: those that meet all conditions.
    #[command(flatten)]
    pub query: QueryArgs,
    /// Delete them; otherwise they are listed.
    #[arg(long)]
    pub yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy archive token`.
#[derive(Debug, Args)]
pub struct ArchiveTokenArgs {
    /// Archive.
    pub archive: PathBuf,
    /// Make a token of this name, and print it. It is stored nowhere.
    #[arg(long, value_name = "NAME", requires = "scope")]
    pub make: Option<String>,
    /// What the token permits. May be repeated.
    #[arg(long, value_name = "SCOPE", requires = "make", value_delimiter = ',', value_parser = ["push", "read", "triage", "admin"])]
    pub scope: Vec<String>,
    /// Revoke the token of this name. The server refuses it at once.
    #[arg(long, value_name = "NAME", conflicts_with = "make")]
    pub revoke: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Which runs are looked for. All conditions must hold.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Which runs")]
pub struct QueryArgs {
    /// Runs of machines whose name or board has this part, in any case.
    #[arg(long = "board", id = "query_board", value_name = "PART")]
    pub board: Option<String>,
    /// Runs on these kernels: 6.12 for all of it, 6.1..6.12, ..5.10
    #[arg(long = "kernel", id = "query_kernel", value_name = "VERSIONS")]
    pub kernel: Option<KernelRange>,
    /// Runs with this preemption: rt, full, lazy, voluntary or none
    #[arg(long = "preemption", id = "query_preemption", value_name = "MODEL", value_parser = preemption)]
    pub preemption: Option<Preemption>,
    /// Runs on kernels with this option: CONFIG_HZ=1000; CONFIG_NO_HZ_FULL=n if it is not set. May be repeated.
    #[arg(long = "config", id = "query_config", value_name = "OPTION=VALUE")]
    pub config: Vec<ConfigOption>,
    /// Runs with this load in a phase, with or without its argument; none for a phase without load.
    #[arg(long = "load", id = "query_load", value_name = "LOAD")]
    pub load: Option<String>,
    /// Runs that started on this day or later: 2026-11-26
    #[arg(long = "since", id = "query_since", value_name = "DAY")]
    pub since: Option<Day>,
    /// Runs that started on this day or earlier.
    #[arg(long = "until", id = "query_until", value_name = "DAY")]
    pub until: Option<Day>,
    /// Runs with this verdict on their own limit: met, exceeded, inconclusive, invalid or no-limit
    #[arg(long = "verdict", id = "query_verdict", value_name = "VERDICT", value_parser = judgement)]
    pub verdict: Option<Judgement>,
    /// Runs that declare this limit.
    #[arg(long = "with-limit", id = "query_limit", value_name = "TIME")]
    pub limit: Option<PositiveDuration>,
    /// Runs with a cause of late wake-ups that has this part, in any case.
    #[arg(long = "cause", id = "query_cause", value_name = "PART")]
    pub cause: Option<String>,
}

impl QueryArgs {
    /// The search.
    pub fn query(&self) -> Query {
        Query {
            machine: self.board.clone(),
            exact_machine: None,
            release: None,
            kernel: self.kernel,
            preemption: self.preemption,
            config: self.config.clone(),
            load: self.load.clone(),
            since: self.since.clone(),
            until: self.until.clone(),
            judgement: self.verdict,
            limit_ns: self.limit.map(|limit| limit.ns()),
            cause: self.cause.clone(),
        }
    }
}
