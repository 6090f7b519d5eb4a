//! `tardy import` and `tardy export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tardy_formats::{ExportFormat, Format, TimeUnit, Unit};
use tardy_recipe::values::Duration;
use tardy_record::capture::Edge;

use super::RedactionFlag;
use super::values::{UnitRule, export_format, import_format, output_path, unit_rule};

/// `tardy import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Files of other tools, compressed or not, and directories of them; - for standard input.
    #[arg(required_unless_present = "list", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Format of the files, if it cannot be detected; --list shows the formats.
    #[arg(long = "as", value_name = "FORMAT", value_parser = import_format)]
    pub format: Option<&'static Format>,
    /// Unit of latencies in files that do not name it: us or ns; or PATTERN=us for files whose name matches, such as
    /// '*.hist=us'. May be repeated; the first match counts.
    #[arg(long, value_name = "UNIT", value_parser = unit_rule)]
    pub unit: Vec<UnitRule>,
    /// Command line that produced the files, such as 'cyclictest -m -Sp90 -i200 -h400 -q'. It supplies interval, priority and
    /// unit.
    #[arg(long, value_name = "COMMAND LINE")]
    pub command: Option<String>,
    /// Channel of a capture with the stimulus, by its name or its number from 0.
    #[arg(id = "capture_in", long = "in", value_name = "CHANNEL", help_heading = "Logic analyser captures")]
    pub input: Option<String>,
    /// Channel with the answers; without --in, the channel whose widths, periods and holes are measured.
    #[arg(
        id = "capture_out",
        long = "out",
        value_name = "CHANNEL",
        help_heading = "Logic analyser captures"
    )]
    pub output_channel: Option<String>,
    /// Edges to measure [default: rising]
    #[arg(long, value_enum, help_heading = "Logic analyser captures")]
    pub edge: Option<EdgeArg>,
    /// Unit of times without one: CSV without a unit in its header, VCD without $timescale.
    #[arg(long, value_enum, help_heading = "Logic analyser captures")]
    pub time_unit: Option<TimeUnitArg>,
    /// List the formats that can be imported.
    #[arg(long)]
    pub list: bool,
    /// With --list: print JSON.
    #[arg(long, requires = "list")]
    pub json: bool,
    /// Run file; for several files, the directory of the run files.
    #[arg(short, long, value_name = "OUT", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Put the runs into this archive instead of writing run files; it is made if it does not exist (docs/archive.md)
    #[arg(long, value_name = "ARCHIVE", conflicts_with_all = ["output", "force"])]
    pub keep: Option<PathBuf>,
    /// Overwrite existing run files.
    #[arg(long)]
    pub force: bool,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}

/// The unit of latencies in a file.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum UnitArg {
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl From<UnitArg> for Unit {
    fn from(unit: UnitArg) -> Self {
        match unit {
            UnitArg::Us => Self::Us,
            UnitArg::Ns => Self::Ns,
        }
    }
}

/// The direction of an edge.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum EdgeArg {
    /// From low to high.
    Rising,
    /// From high to low.
    Falling,
}

impl From<EdgeArg> for Edge {
    fn from(edge: EdgeArg) -> Self {
        match edge {
            EdgeArg::Rising => Self::Rising,
            EdgeArg::Falling => Self::Falling,
        }
    }
}

/// The unit of times in a capture.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum TimeUnitArg {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
    /// Picoseconds.
    Ps,
}

impl From<TimeUnitArg> for TimeUnit {
    fn from(unit: TimeUnitArg) -> Self {
        match unit {
            TimeUnitArg::S => Self::S,
            TimeUnitArg::Ms => Self::Ms,
            TimeUnitArg::Us => Self::Us,
            TimeUnitArg::Ns => Self::Ns,
            TimeUnitArg::Ps => Self::Ps,
        }
    }
}

/// `tardy export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Run file.
    #[arg(required_unless_present = "list_formats", value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Format; --list shows the formats.
    #[arg(long, value_name = "FORMAT", value_parser = export_format, required_unless_present = "list_formats")]
    pub to: Option<&'static ExportFormat>,
    /// Unit of cyclictest's rows. Its parsers assume us.
    #[arg(id = "export_unit", long = "unit", value_enum)]
    pub unit: Option<UnitArg>,
    /// Highest accepted latency, for junit [default: the run's limit]
    #[arg(id = "export_limit", long = "limit", value_name = "TIME")]
    pub limit: Option<Duration>,
    /// Which traced late wake-up, for ftrace and trace.dat; 1 is the worst [default: 1]
    #[arg(long, value_name = "N")]
    pub outlier: Option<usize>,
    /// List the formats that can be written.
    #[arg(id = "list_formats", long = "list")]
    pub list: bool,
    /// With --list: print JSON.
    #[arg(id = "formats_as_json", long = "json", requires = "list_formats")]
    pub json: bool,
    /// Output file [default: standard output]
    #[arg(id = "export_output", short = 'o', long = "output", value_name = "FILE", value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Overwrite the file if it exists.
    #[arg(id = "export_force", long = "force")]
    pub force: bool,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}
