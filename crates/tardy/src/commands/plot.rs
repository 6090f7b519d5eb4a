//! `tardy plot`: the latency plot on its own.

use anyhow::{Context, Result, bail};
use tardy_present::latency_plot;
use tardy_present::plot::{Options, curve};
use tardy_record::Run;
use tardy_record::units::parse_duration_ns;

use super::output;
use crate::args::PlotArgs;
use crate::exit::Exit;

/// Draws.
pub(crate) fn run(arguments: &PlotArgs) -> Result<Exit> {
    let runs = output::open_runs(&arguments.runs)?;
    let runs: Vec<&Run> = runs.iter().collect();
    let options = Options {
        latency_max_ns: arguments.x_max.as_deref().map(parse_duration_ns).transpose().context("--x-max")?,
        limit_ns: runs.iter().find_map(|run| run.plan.limit_ns),
        ..Options::default()
    };
    let undrawn = curve::undrawn(&runs);
    if curve::curves(&runs).is_empty() && !undrawn.is_empty() {
        bail!(
            "there is nothing to draw: of {} only counts and extremes are known, and no distribution; 'tardy show' has them",
            undrawn.join(", ")
        );
    }
    for name in undrawn {
        output::tell(&format!("{name} has no line: there is no distribution of it"));
    }
    let file = output::claim(&arguments.output, &arguments.runs, arguments.force)?;
    file.write(latency_plot::svg(&runs, &options).as_bytes())?;
    output::tell(&format!("plot {}", arguments.output.display()));
    Ok(Exit::Done)
}
