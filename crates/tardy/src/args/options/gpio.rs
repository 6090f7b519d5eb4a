//! `[gpio]`: probes on GPIO lines.

use clap::Args;
use serde::{Deserialize, Serialize};
use tardy_record::line_name::LineName;
use tardy_record::pins::AnswerBy;
use tardy_record::wiggle::Through;

use crate::args::values::{Duration, PositiveDuration, ProgramLine, StimulusOutput, by_name};

/// The period of a stimulus where none is given.
pub(crate) const STIMULUS_PERIOD: PositiveDuration = PositiveDuration::from_ns(1_000_000);

/// The `[gpio]` table of a recipe, and its flags.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[command(next_help_heading = "GPIO probes")]
pub(crate) struct GpioOptions {
    /// Line whose rising edges are answered: gpiochip0:17, the chip's label instead, or the line's name (docs/pins.md)
    #[arg(id = "input_line", long = "in", value_name = "CHIP:LINE")]
    #[serde(rename = "in")]
    pub(crate) input: Option<LineName>,
    /// Line that answers or is toggled. tardy drives it.
    #[arg(id = "output_line", long = "out", value_name = "CHIP:LINE")]
    #[serde(rename = "out")]
    pub(crate) output: Option<LineName>,
    /// How the thread detects an edge: events, busy, sysfs. Several ways are measured one after the other [default:
    /// events]
    #[arg(long, value_name = "WAY,…", value_delimiter = ',', value_parser = by_name::<AnswerBy>)]
    pub(crate) answer_by: Option<Vec<AnswerBy>>,
    /// Generate the edges on this line, or on a PWM output (pwmchip0:1), which is wired to --in.
    #[arg(long, value_name = "CHIP:LINE")]
    pub(crate) stimulus: Option<StimulusOutput>,
    /// Time between the stimulus's rising edges [default: 1ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) stimulus_period: Option<PositiveDuration>,
    /// Delay each edge of the stimulus at random by up to this. A PWM output has no dither [default: a fifth of the period]
    #[arg(long, value_name = "TIME")]
    pub(crate) stimulus_dither: Option<Duration>,
    /// CPU of the thread that generates the stimulus [default: tardy's own CPU, unless it answers; else another]
    #[arg(long, value_name = "CPU")]
    pub(crate) stimulus_cpu: Option<u32>,
    /// Read the answer, or the toggled line, back on this line, which is wired to --out.
    #[arg(long, value_name = "CHIP:LINE")]
    pub(crate) echo: Option<LineName>,
    /// Run this program to toggle --out, and measure its edges on --echo. {line} in its arguments is replaced by the line.
    /// No shell runs.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) by: Option<ProgramLine>,
    /// How gpio-wiggle writes its line: chardev, sysfs, or gpiomem on Raspberry Pis up to the 4 [default: chardev]
    #[arg(long, value_name = "WAY", value_parser = by_name::<Through>)]
    pub(crate) through: Option<Through>,
}

impl GpioOptions {
    /// How the thread detects an edge, one way after the other.
    pub(crate) fn ways(&self) -> Vec<AnswerBy> {
        self.answer_by.clone().unwrap_or_else(|| vec![AnswerBy::default()])
    }

    /// Whether any line is named, so that the machine's GPIO chips must be known.
    pub(crate) fn names_a_line(&self) -> bool {
        self.input.is_some() || self.output.is_some() || self.stimulus.is_some()
    }
}
