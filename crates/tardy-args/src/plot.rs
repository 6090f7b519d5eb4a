//! `tardy plot`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tardy_present::plot_file::Kind;
use tardy_recipe::values::Duration;

use super::values::{RunName, output_path, plot_height, plot_width, run_name};
use super::{GroupArgs, RedactionFlag};

/// `tardy plot`.
#[derive(Debug, Args)]
pub struct PlotArgs {
    /// Run files.
    #[arg(required_unless_present = "base", conflicts_with = "base", value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The runs to compare, in groups.
    #[command(flatten)]
    pub groups: GroupArgs,
    /// Kind of plot.
    #[arg(long, value_enum, default_value_t = KindArg::Histogram)]
    pub kind: KindArg,
    /// Plot file; its ending is the format [default: tardy-plot.svg]
    #[arg(short, long, value_parser = output_path())]
    pub output: Option<PathBuf>,
    /// Format of the plot file [default: that of its ending, or svg]
    #[arg(long, value_enum)]
    pub format: Option<FormatArg>,
    /// Write the data of the plot as CSV to this file too.
    #[arg(long, value_name = "FILE", value_parser = output_path())]
    pub data: Option<PathBuf>,
    /// Name in the plot: of one run the title, of several the name of each, in their order.
    #[arg(long = "name", value_name = "NAME", value_parser = run_name)]
    pub names: Vec<RunName>,
    /// Width: 85mm, 8.5cm, 3.35in, or CSS pixels (1/96 inch).
    #[arg(long, value_name = "LENGTH", default_value = "860", value_parser = plot_width)]
    pub width: f64,
    /// Height, in the same units [default: that of the kind of plot]
    #[arg(long, value_name = "LENGTH", value_parser = plot_height)]
    pub height: Option<f64>,
    /// Pixels of a PNG for each CSS pixel.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=10))]
    pub scale: u8,
    /// Overwrite the files if they exist.
    #[arg(long)]
    pub force: bool,
    /// Right end of the latency axis of a histogram, exceedance or compare plot: 400us [default: beyond the worst case]
    #[arg(long, value_name = "TIME")]
    pub x_max: Option<Duration>,
    /// Print the names of the files as JSON.
    #[arg(long)]
    pub json: bool,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}

/// A kind of plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// Number of readings by latency.
    Histogram,
    /// Share of readings at or above each latency.
    Exceedance,
    /// Maxima over time, loads and environment, of one run.
    Timeline,
    /// Highest latency of each CPU over time, of one run.
    Heatmap,
    /// Latency distribution over time, of one run.
    Distribution,
    /// Histogram and exceedance of two or more runs.
    Compare,
    /// Quantiles with their confidence intervals.
    Quantiles,
    /// Levels that are exceeded once per hour, day or week, of one run.
    ReturnLevels,
    /// Differences of the quantiles of two runs, or of two groups of boots, with their intervals.
    Shift,
}

impl From<KindArg> for Kind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::Histogram => Self::Histogram,
            KindArg::Exceedance => Self::Exceedance,
            KindArg::Timeline => Self::Timeline,
            KindArg::Heatmap => Self::Heatmap,
            KindArg::Distribution => Self::Distribution,
            KindArg::Compare => Self::Compare,
            KindArg::Quantiles => Self::Quantiles,
            KindArg::ReturnLevels => Self::ReturnLevels,
            KindArg::Shift => Self::Shift,
        }
    }
}

/// A format of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Scalable, for pages and editors.
    Svg,
    /// Pixels.
    Png,
    /// One page, with text as text.
    Pdf,
    /// The data of the plot.
    Csv,
}
