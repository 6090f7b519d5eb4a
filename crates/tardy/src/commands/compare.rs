//! `tardy compare`: the differences between runs.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tardy_analyse::published::{Match, match_of};
use tardy_compare::side_by_side::{self, Comparison};
use tardy_plot::numbers::harmless;
use tardy_recipe::wrong;
use tardy_record::Run;
use tardy_record::units::counted;

use tardy_args::CompareArgs;
use tardy_command::{Exit, comparison, output, published, versus};

/// Compares the first run with the others.
pub(crate) fn run(arguments: &CompareArgs) -> Result<Exit> {
    if let Some(groups) = versus::Compared::of(&arguments.groups, arguments.redaction)? {
        return groups.print(arguments.json);
    }
    let (published, paths): (Vec<_>, Vec<_>) =
        arguments.runs.iter().partition(|path| published::named(path).is_some());
    let runs = output::open_runs(&paths, arguments.redaction)?;
    if !published.is_empty() {
        if runs.is_empty() {
            bail!(
                "published results can only be compared with a run; 'tardy list --published' shows their figures"
            );
        }
        if !arguments.phases.is_empty() {
            return Err(wrong("phase", "a published result has no phases; remove --phase").into());
        }
        return with_published(&published, &runs, arguments.json);
    }
    let runs: Vec<&Run> = runs.iter().collect();
    let compared = match &arguments.phases[..] {
        [] => side_by_side::of(&runs),
        pairs => side_by_side::of_phases(&runs, pairs).map_err(|reason| wrong("phase", reason))?,
    };
    let mut compared = compared.context("a comparison needs at least two runs")?;
    if !arguments.anyway {
        compared = compared.without_incomparable();
    }
    comparison::print(&runs, &compared, arguments.json)?;
    Ok(exit(&runs, &compared, &arguments.runs, arguments.anyway))
}

/// The exit status. It is a failure if a pair of runs is not comparable or has nothing to compare, so that a script notices.
fn exit(runs: &[&Run], comparison: &Comparison, paths: &[PathBuf], anyway: bool) -> Exit {
    let base = paths[0].display();
    let mut exit = Exit::Done;
    for ((pair, run), path) in comparison.candidates.iter().zip(&runs[1..]).zip(&paths[1..]) {
        // What has nothing in common does not become comparable.
        if pair.nothing_because.is_none()
            && let (Some(reason), false) = (pair.not_comparable_because.first(), anyway)
        {
            let more = match pair.not_comparable_because.len() {
                1 => String::new(),
                count => format!(" (and {} more)", counted(count as u64 - 1, "reason", "reasons")),
            };
            let path = path.display();
            output::report(&format!(
                "{base} and {path} are not comparable: {reason}{more}; --anyway prints the tables"
            ));
            exit = Exit::CouldNot;
            continue;
        }
        let Some(reason) = &pair.nothing_because else { continue };
        // --phase helps only if there are several phases.
        let choice = pair.rows.is_empty() && runs[0].phases.len().max(run.phases.len()) > 1;
        let hint = match choice {
            true => "; pair phases with --phase BASE=CANDIDATE, by name or number",
            false => "",
        };
        output::report(&format!("{base} and {} cannot be compared: {reason}{hint}", path.display()));
        exit = Exit::CouldNot;
    }
    exit
}

/// Shows each run next to each published result.
fn with_published(paths: &[&PathBuf], runs: &[Run], json: bool) -> Result<Exit> {
    let results = paths.iter().map(|path| published::named(path).context("a published result")?);
    let results = results.collect::<Result<Vec<_>>>()?;
    let pairs = || runs.iter().flat_map(|run| results.iter().map(move |result| (run, *result)));
    let matches: Vec<Match> = pairs().map(|(run, result)| match_of(run, result)).collect();
    if json {
        output::print_json(&matches)?;
    }
    let mut exit = Exit::Done;
    for ((run, _), one) in pairs().zip(&matches) {
        if !json {
            output::print(&(harmless(&run.headline()) + "\n\n"))?;
            output::print(&tardy_present::published::compared(one, output::width()))?;
        }
        if one.ours.is_empty() {
            output::report(&format!(
                "published:{} and {} cannot be compared: they have no figures in common",
                one.id, run.origin.id
            ));
            exit = Exit::CouldNot;
        }
    }
    Ok(exit)
}
