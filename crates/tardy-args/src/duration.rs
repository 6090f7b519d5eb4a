//! `tardy duration`.

use clap::Args;
use tardy_recipe::values::{Confidence, PositiveDuration, Probability};

/// `tardy duration`.
#[derive(Debug, Args)]
pub struct DurationArgs {
    /// The latency that may be exceeded this rarely.
    #[arg(long, value_name = "TIME")]
    pub limit: Option<PositiveDuration>,
    /// The share of wake-ups that may be later than the limit: 1e-9, 0.001%
    #[arg(long, default_value = "1e-6", value_name = "SHARE")]
    pub probability: Probability,
    /// How sure the run has to be: 0.99, 99%
    #[arg(long, default_value = "95%", value_name = "SHARE")]
    pub confidence: Confidence,
    /// Interval between wake-ups [default: 200us, that of tardy run]
    #[arg(long, value_name = "TIME")]
    pub interval: Option<PositiveDuration>,
    /// How many late wake-ups the run may have.
    #[arg(long, default_value_t = 0, value_name = "COUNT")]
    pub late: u64,
    /// Print the smallest difference that a comparison with this many boots or runs of each side can show instead.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=50), conflicts_with_all = ["limit", "probability", "confidence", "interval", "late"])]
    pub boots: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
