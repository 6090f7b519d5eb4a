//! `[gpio]`: probes on GPIO lines.

use clap::Args;
use serde::{Deserialize, Serialize};
use tardy_record::line_name::LineName;
use tardy_record::pins::AnswerBy;
use tardy_record::wiggle::Through;

use crate::values::{Duration, PositiveDuration, ProgramLine, StimulusOutput, by_name};

/// The default period of a stimulus.
pub const STIMULUS_PERIOD: PositiveDuration = PositiveDuration::from_ns(1_000_000);

/// The `[gpio]` table of a recipe, and its flags.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[command(next_help_heading = "GPIO probes")]
pub struct GpioOptions {
    /// Line whose rising edges are answered: gpiochip0:17, the chip's label instead of gpiochip0, or the line's name
    /// (docs/pins.md)
    #[arg(id = "input_line", long = "in", value_name = "CHIP:LINE")]
    #[serde(rename = "in")]
    pub input: Option<LineName>,
    /// Line that tardy drives: the answer, or the line to toggle.
    #[arg(id = "output_line", long = "out", value_name = "CHIP:LINE")]
    #[serde(rename = "out")]
    pub output: Option<LineName>,
    /// How the thread detects an edge: events, busy, sysfs. Several ways are measured one after the other [default:
    /// events]
    #[arg(long, value_name = "WAY,…", value_delimiter = ',', value_parser = by_name::<AnswerBy>)]
    pub answer_by: Option<Vec<AnswerBy>>,
    /// Generate the edges on this line or PWM output (pwmchip0:1). Wire it to --in.
    #[arg(long, value_name = "CHIP:LINE")]
    pub stimulus: Option<StimulusOutput>,
    /// Time between the stimulus's rising edges [default: 1ms]
    #[arg(long, value_name = "TIME")]
    pub stimulus_period: Option<PositiveDuration>,
    /// Delay each edge of the stimulus at random by up to this. A PWM output has no dither [default: a fifth of the period]
    #[arg(long, value_name = "TIME")]
    pub stimulus_dither: Option<Duration>,
    /// CPU of the thread that generates the stimulus [default: the supervisor's CPU, unless it answers; else another]
    #[arg(long, value_name = "CPU")]
    pub stimulus_cpu: Option<u32>,
    /// Read the answer or the toggled line back on this line. Wire it to --out.
    #[arg(long, value_name = "CHIP:LINE")]
    pub echo: Option<LineName>,
    /// Run this program to toggle --out, and measure its edges on --echo. {line} in its arguments is replaced by the line.
    /// No shell runs.
    #[arg(long, value_name = "PROGRAM")]
    pub by: Option<ProgramLine>,
    /// How gpio-wiggle writes its line: chardev, sysfs, or gpiomem on Raspberry Pis up to the 4 [default: chardev]
    #[arg(long, value_name = "WAY", value_parser = by_name::<Through>)]
    pub through: Option<Through>,
}

impl GpioOptions {
    /// The ways to detect an edge, in the order of measurement.
    pub fn ways(&self) -> Vec<AnswerBy> {
        self.answer_by.clone().unwrap_or_else(|| vec![AnswerBy::default()])
    }

    /// Whether the options name a line, so that planning needs the machine's GPIO chips.
    pub fn names_a_line(&self) -> bool {
        self.input.is_some() || self.output.is_some() || self.stimulus.is_some()
    }
}
