//! `tardy compare`: what differs between runs.

use anyhow::{Context, Result};
use tardy_analyse::compare;
use tardy_record::Run;

use super::output;
use crate::args::CompareArgs;
use crate::exit::Exit;

/// Compares the first run with the others.
pub(crate) fn run(arguments: &CompareArgs) -> Result<Exit> {
    let runs = output::open_runs(&arguments.runs)?;
    let runs: Vec<&Run> = runs.iter().collect();
    let comparison = compare::of(&runs).context("a comparison needs at least two runs")?;
    if arguments.json {
        output::print_json(&comparison)?;
    } else {
        output::print(&tardy_present::compare::text(&comparison, output::width()))?;
    }
    Ok(Exit::Done)
}
