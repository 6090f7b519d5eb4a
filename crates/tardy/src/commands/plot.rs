//! `tardy plot`: the latency plot on its own.

use anyhow::{Context, Result};
use tardy_present::plot::{self, Options};
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
    output::write_file(&arguments.output, &plot::latency_svg(&runs, &options))?;
    eprintln!("tardy: plot {}", arguments.output.display());
    Ok(Exit::Done)
}
