//! `tardy show`: a run's summary and histogram, or the overview of a directory.

use anyhow::Result;
use tardy_analyse::findings;
use tardy_analyse::published::PublishedResult;
use tardy_compare::overview::SortKey;
use tardy_present::summary;
use tardy_record::Run;

use super::{output, overview, published};
use crate::args::ShowArgs;
use crate::exit::Exit;

/// Shows a run file, a directory or a published result.
pub(crate) fn run(arguments: &ShowArgs) -> Result<Exit> {
    if let Some(result) = published::named(&arguments.run) {
        return show_published(result?, arguments.json);
    }
    if arguments.run.is_dir() {
        overview::refuse_redaction(arguments.redaction)?;
        let paths = std::slice::from_ref(&arguments.run);
        let overview = overview::of(paths, SortKey::default(), false)?;
        return overview::print(&overview, arguments.json);
    }
    let run = output::open_run(&arguments.run, arguments.redaction)?;
    print(&run, arguments.json)?;
    Ok(Exit::of_verdict(&run))
}

fn show_published(result: &PublishedResult, json: bool) -> Result<Exit> {
    if json {
        output::print_json(result)?;
    } else {
        output::print(&tardy_present::published::whole(result, output::width()))?;
    }
    Ok(Exit::Done)
}

/// Prints a run.
pub(super) fn print(run: &Run, json: bool) -> Result<()> {
    let findings = findings::of(run, &published::options()?);
    if json {
        return output::print_json(&findings);
    }
    output::print(&summary::text(run, &findings, output::width(), output::colour()))
}
