//! `tardy gpio`.

use clap::{Args, Subcommand};
use tardy_recipe::options::STIMULUS_PERIOD;
use tardy_recipe::values::{Duration, PositiveDuration};
use tardy_record::line_name::LineName;

/// `tardy gpio …`.
#[derive(Debug, Subcommand)]
pub enum GpioCommand {
    /// List chips, their lines, and the consumers of the lines.
    List(GpioListArgs),
    /// Generate edges on a line for another board to answer; with --echo, time its answers.
    Stimulate(GpioStimulateArgs),
}

/// `tardy gpio stimulate`.
#[derive(Debug, Args)]
pub struct GpioStimulateArgs {
    /// Line to drive: gpiochip0:17, the chip's label instead of gpiochip0, or the line's name.
    #[arg(long, value_name = "CHIP:LINE")]
    pub out: LineName,
    /// Time the answers that arrive on this line.
    #[arg(long, value_name = "CHIP:LINE")]
    pub echo: Option<LineName>,
    /// Time between rising edges.
    #[arg(long, value_name = "TIME", default_value_t = STIMULUS_PERIOD)]
    pub period: PositiveDuration,
    /// Delay each edge at random by up to this [default: a fifth of the period]
    #[arg(long, value_name = "TIME")]
    pub dither: Option<Duration>,
    /// Seed of the dither.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// End after this time [default: at Ctrl-C]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Duration>,
    /// Print the numbers as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tardy gpio list`.
#[derive(Debug, Args)]
pub struct GpioListArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
