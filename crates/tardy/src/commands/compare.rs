//! `tardy compare`: what differs between runs.

use std::path::Path;

use anyhow::{Context, Result, bail};
use tardy_analyse::comparability;
use tardy_analyse::compare::{self, Comparison};
use tardy_analyse::findings;
use tardy_analyse::published::{Match, match_of};
use tardy_present::latency::harmless;
use tardy_present::summary;
use tardy_record::Run;

use super::output;
use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::published;

/// Compares the first run with the others.
pub(crate) fn run(arguments: &CompareArgs) -> Result<Exit> {
    let (published, paths): (Vec<_>, Vec<_>) =
        arguments.runs.iter().partition(|path| published::named(path).is_some());
    let runs = output::open_runs(&paths)?;
    match published[..] {
        [] => {}
        [one] => return with_published(one, &runs, arguments.json),
        _ => bail!(
            "two published results have nothing to be compared by but the figures that 'tardy list --published' shows"
        ),
    }
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

/// Sets each run beside a published result.
fn with_published(path: &Path, runs: &[Run], json: bool) -> Result<Exit> {
    let result = published::named(path).context("a published result")??;
    let matches: Vec<Match> = runs.iter().map(|run| match_of(run, result)).collect();
    if json {
        output::print_json(&matches)?;
        return Ok(Exit::Done);
    }
    for (run, one) in runs.iter().zip(&matches) {
        output::print(&(harmless(&run.headline()) + "\n\n"))?;
        output::print(&tardy_present::published::compared(one, output::width()))?;
    }
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
