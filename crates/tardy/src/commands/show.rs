//! `tardy show`: a run's summary and histogram, or the overview of a directory.

use std::path::Path;

use anyhow::Result;
use tardy_analyse::findings;
use tardy_analyse::published::PublishedResult;
use tardy_analyse::tail::Depth;
use tardy_archive::Query;
use tardy_compare::overview::SortKey;
use tardy_present::sections::extremes;
use tardy_recipe::wrong;
use tardy_record::Run;
use tardy_share::link;

use super::{overview, runs_below};
use tardy_args::ShowArgs;
use tardy_command::{Exit, output, published, show_run};

/// Shows a run file, a directory or a published result.
pub(crate) fn run(arguments: &ShowArgs) -> Result<Exit> {
    let published = published::named(&arguments.run);
    if (arguments.limit.is_some() || arguments.tail)
        && (published.is_some() || runs_below::has_several(&arguments.run))
    {
        let option = if arguments.tail { "tail" } else { "limit" };
        return Err(wrong(option, "it needs the readings of one run; give a run file").into());
    }
    if let Some(result) = published {
        return show_published(result?, arguments.json);
    }
    if let Some(link) = link_of(&arguments.run) {
        return show_link(link, arguments);
    }
    if runs_below::has_several(&arguments.run) {
        overview::refuse_redaction(arguments.redaction)?;
        let paths = std::slice::from_ref(&arguments.run);
        let overview = overview::of(paths, &Query::default(), SortKey::default(), false)?;
        return overview::print(&overview, arguments.json);
    }
    let mut run = output::open_run(&arguments.run, arguments.redaction)?;
    if let Some(limit) = arguments.limit {
        run.plan.limit_ns = Some(limit.ns());
    }
    match arguments.tail && !arguments.json {
        true => print_tails(&run)?,
        false => show_run(&run, arguments.json)?,
    }
    Ok(Exit::of_verdict(&run))
}

/// The argument, if it is a link of `tardy share` or of the page.
fn link_of(argument: &Path) -> Option<&str> {
    argument.to_str().filter(|text| link::is_of_runs(text) || link::is_of_switch(text))
}

/// Shows each run of a link, or prints the switch file in it.
fn show_link(text: &str, arguments: &ShowArgs) -> Result<Exit> {
    if link::is_of_switch(text) {
        output::print_content(&link::switch(text)?)?;
        return Ok(Exit::Done);
    }
    let mut exits = Vec::new();
    for run in link::runs(text)? {
        let mut run = output::redacted(run, arguments.redaction)?;
        if let Some(limit) = arguments.limit {
            run.plan.limit_ns = Some(limit.ns());
        }
        if !exits.is_empty() && !arguments.json {
            output::print("\n")?;
        }
        match arguments.tail && !arguments.json {
            true => print_tails(&run)?,
            false => show_run(&run, arguments.json)?,
        }
        exits.push(Exit::of_verdict(&run));
    }
    Ok(Exit::that_matters_most(exits))
}

fn show_published(result: &PublishedResult, json: bool) -> Result<Exit> {
    if json {
        output::print_json(result)?;
    } else {
        output::print(&tardy_present::published::whole(result, output::width()))?;
    }
    Ok(Exit::Done)
}

/// Prints the levels beyond the run's duration, and every check of them.
fn print_tails(run: &Run) -> Result<()> {
    let findings =
        findings::of(run, &findings::Options { tails: Depth::Levels, ..findings::Options::default() });
    output::print(&extremes::whole(run, &findings.tails, output::width(), output::colour()))
}
