//! `tardy plot`: the latency plot as SVG.

use anyhow::{Result, bail};
use tardy_present::latency_plot;
use tardy_present::plot::{Options, curve};
use tardy_record::Run;

use super::output;
use crate::args::PlotArgs;
use crate::exit::Exit;

/// Draws the plot.
pub(crate) fn run(arguments: &PlotArgs) -> Result<Exit> {
    let runs = output::open_runs(&arguments.runs, arguments.redaction)?;
    let runs: Vec<&Run> = runs.iter().collect();
    let options = Options {
        latency_max_ns: arguments.x_max.map(|latency| latency.ns()),
        limit_ns: runs.iter().find_map(|run| run.plan.limit_ns),
        ..Options::default()
    };
    let undrawn = curve::undrawn(&runs);
    if curve::curves(&runs).is_empty() && !undrawn.is_empty() {
        bail!(
            "nothing to draw: only counts and extremes are known of {}, not a distribution; 'tardy show' prints them",
            undrawn.join(", ")
        );
    }
    for name in undrawn {
        output::report(&format!("{name} is not drawn: it has no distribution"));
    }
    let file = output::claim(&arguments.output, &arguments.runs, arguments.force)?;
    file.write(latency_plot::svg(&runs, &options).as_bytes())?;
    output::report(&format!("plot {}", arguments.output.display()));
    Ok(Exit::Done)
}
