//! `tardy import` and `tardy export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tardy_formats::{TimeUnit, Unit};
use tardy_record::capture::Edge;

/// `tardy import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Files of other tools, packed or not, and directories of them.
    #[arg(required_unless_present = "list", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The format, where the content does not tell; --list names them.
    #[arg(long = "as", value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// The unit of files that do not say theirs.
    #[arg(long, value_enum)]
    pub(crate) unit: Option<UnitArg>,
    /// The command line that the files were made with, such as 'cyclictest -m -Sp90 -i200 -h400 -q': from it come interval,
    /// priority and unit.
    #[arg(long, value_name = "COMMAND LINE")]
    pub(crate) command: Option<String>,
    /// The channel of a capture that has the stimulus, by its name or its number from 0.
    #[arg(
        id = "capture_in",
        long = "in",
        value_name = "CHANNEL",
        help_heading = "Captures of logic analysers"
    )]
    pub(crate) input: Option<String>,
    /// The channel that has the answers; alone, the one whose widths, periods and holes are looked at.
    #[arg(
        id = "capture_out",
        long = "out",
        value_name = "CHANNEL",
        help_heading = "Captures of logic analysers"
    )]
    pub(crate) output_channel: Option<String>,
    /// Which edges count; rising by default.
    #[arg(long, value_enum, help_heading = "Captures of logic analysers")]
    pub(crate) edge: Option<EdgeArg>,
    /// The unit of times that have none: of CSV without one in its head, of VCD without a $timescale.
    #[arg(long, value_enum, help_heading = "Captures of logic analysers")]
    pub(crate) time_unit: Option<TimeUnitArg>,
    /// Names the formats that can be imported.
    #[arg(long)]
    pub(crate) list: bool,
    /// Where the run file goes; of several files, the directory that theirs go to.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Replace run files that are there.
    #[arg(long)]
    pub(crate) force: bool,
}

/// A unit.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UnitArg {
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

/// A direction.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EdgeArg {
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

/// A unit of a capture's times.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TimeUnitArg {
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
pub(crate) struct ExportArgs {
    /// A run file.
    #[arg(required_unless_present = "list_formats", value_name = "RUN")]
    pub(crate) run: Option<PathBuf>,
    /// The format; --list names them.
    #[arg(long, value_name = "FORMAT", required_unless_present = "list_formats")]
    pub(crate) to: Option<String>,
    /// The unit of cyclictest's rows, which its parsers take for us.
    #[arg(id = "export_unit", long = "unit", value_enum)]
    pub(crate) unit: Option<UnitArg>,
    /// A wake-up later than this is too late (junit); the run's own limit by default.
    #[arg(id = "export_limit", long = "limit", value_name = "TIME")]
    pub(crate) limit: Option<String>,
    /// Names the formats that can be written.
    #[arg(id = "list_formats", long = "list")]
    pub(crate) list: bool,
    /// Where it goes; standard output by default.
    #[arg(id = "export_output", short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it is there.
    #[arg(id = "export_force", long = "force")]
    pub(crate) force: bool,
}
