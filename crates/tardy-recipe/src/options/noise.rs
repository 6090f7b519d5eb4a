//! `[noise]`: the noise probe.

use clap::Args;
use serde::{Deserialize, Serialize};
use tardy_record::plan::Policy;

use crate::values::PositiveDuration;

/// The `[noise]` table of a recipe, and its flags. Its policy and priority are keys only: on the command line `--policy` and
/// `--priority` apply to every probe.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[command(next_help_heading = "Noise probe")]
pub struct NoiseOptions {
    /// Shortest gap that counts as noise, and shortest toggle of gpio-wiggle that counts as a hole; at least 50ns
    /// [default: 500ns]
    #[arg(long, value_name = "TIME")]
    pub threshold: Option<PositiveDuration>,
    /// The scheduling policy of the loop.
    #[arg(skip)]
    pub policy: Option<Policy>,
    /// Its priority, 1 to 99.
    #[arg(skip)]
    pub priority: Option<u32>,
}

impl NoiseOptions {
    /// The shortest gap that counts as noise, in ns.
    pub fn threshold_ns(&self) -> u64 {
        self.threshold.unwrap_or(PositiveDuration::from_ns(500)).ns()
    }
}
