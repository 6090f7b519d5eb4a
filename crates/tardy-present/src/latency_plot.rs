//! The latency plot as a separate file, which `tardy plot` writes.

use tardy_analyse::name::Readings;
use tardy_record::Run;

use crate::plot::{self, Options, curve};
use crate::sections;

/// The latency plot of `runs`.
pub fn svg(runs: &[&Run], options: &Options) -> String {
    let title = match runs {
        [run] => run.headline(),
        runs => format!("Latency of {} runs", runs.len()),
    };
    let readings = Readings::of_runs(runs);
    let options = Options {
        mark: options.mark.or_else(|| plot::mark(runs)),
        readings,
        words: sections::words(sections::ALL, readings),
        ..*options
    };
    plot::latency::draw("latency", &title, &curve::curves(runs), &options)
}
