//! `tardy compare`: what differs between runs.

use anyhow::{Context, Result, bail};
use tardy_analyse::comparability;
use tardy_analyse::compare::{self, Comparison};
use tardy_analyse::findings;
use tardy_present::summary;
use tardy_record::Run;

use super::output;
use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::published;

/// Compares the first run with the others.
pub(crate) fn run(arguments: &CompareArgs) -> Result<Exit> {
    let runs = output::open_runs(&arguments.runs)?;
    let runs: Vec<&Run> = runs.iter().collect();
    if !arguments.force
        && let Some(reason) = runs[1..].iter().find_map(|run| comparability::traced_differently(runs[0], run))
    {
        bail!("{reason}; --force compares them all the same");
    }
    let comparison = compare::of(&runs).context("a comparison needs at least two runs")?;
    print(&runs, &comparison, arguments.json)?;
    Ok(Exit::Done)
}

/// Shows a comparison on standard output; of tests of a switch, what each came to first.
pub(super) fn print(runs: &[&Run], comparison: &Comparison, json: bool) -> Result<()> {
    if json {
        return output::print_json(comparison);
    }
    for run in runs {
        let findings = findings::of(run, &published::options()?);
        if let Some(slots) = summary::slots(run, &findings, output::width(), output::colour()) {
            output::print(&(slots + "\n"))?;
        }
    }
    output::print(&tardy_present::compare::text(comparison, output::width()))
}
