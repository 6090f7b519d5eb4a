//! Plots as SVG: small, reproducible to the byte, readable on light and dark backgrounds, with real text.
//!
//! Colours are CSS classes, never attributes: a separate plot contains `plot.css`, a plot in the report uses the style
//! sheet of the page. Every plot is drawn at its final width: for phones there is a separate plot instead of a scaled
//! one. docs/adr/0004-own-svg-writer.md explains why no plotting library is used.

pub mod cpu_map;
pub mod cpus;
pub mod curve;
pub mod cycle;
pub mod drift;
pub mod environment;
pub mod exceedance;
pub mod extremes;
pub mod flow_paths;
pub mod flow_slack;
pub mod frame;
pub mod gaps;
pub mod heat;
pub mod history;
pub mod icicle;
pub mod icicle_difference;
pub mod latency;
pub mod link_frames;
pub mod moment;
pub mod numbers;
pub mod plot_data;
pub mod print;
pub mod quantiles;
pub mod runs_over_time;
pub mod scale;
pub mod scope;
pub mod section_lengths;
pub mod shift;
pub mod strip;
pub mod svg;
pub mod terms;
pub mod timeline;
pub mod versions;
pub mod worst_cpus;

use tardy_analyse::lab;
use tardy_analyse::name::Readings;
use tardy_record::Run;

use crate::terms::{LATENCY, Terms};

/// The style sheet that all plots share.
pub const STYLE: &str = include_str!("plot.css");

/// How a plot is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Width in CSS pixels.
    pub width: f64,
    /// Height in CSS pixels; `None`: that of the kind of plot. A plot with many rows or panels may be higher.
    pub height: Option<f64>,
    /// The limit, in ns.
    pub limit_ns: Option<u64>,
    /// End of the latency axis, in ns; `None`: chosen so that the body of the distribution is visible. The legend
    /// states the number of values beyond the end.
    pub latency_max_ns: Option<u64>,
    /// Text across the plot: a warning that its numbers are meaningless.
    pub mark: Option<&'static str>,
    /// The kind of readings that are counted.
    pub readings: Readings,
    /// The terms for these readings.
    pub words: &'static Terms,
    /// Whether the plot includes its style sheet.
    pub standalone: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            width: 860.0,
            height: None,
            limit_ns: None,
            latency_max_ns: None,
            mark: None,
            readings: Readings::default(),
            words: &LATENCY,
            standalone: true,
        }
    }
}

impl Options {
    /// Whether the plot is for a phone.
    pub fn narrow(&self) -> bool {
        self.width < 560.0
    }
}

/// The warning across plots of `runs`; `None` if the latencies of all runs are meaningful.
pub fn mark(runs: &[&Run]) -> Option<&'static str> {
    let meaningless = runs.iter().filter(|run| lab::meaningless_because(run).is_some()).count();
    match meaningless {
        0 => None,
        _ if meaningless == runs.len() => Some("latencies mean nothing"),
        _ => Some("some of these mean nothing"),
    }
}
