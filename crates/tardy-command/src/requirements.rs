//! Requirements of runs that a command has measured or opened.

use anyhow::Result;
use tardy_gate::forms::{self, Judged};
use tardy_gate::{Outcome, Requirement};
use tardy_record::Run;

use crate::{Exit, output};

/// Judges the runs that a command has just measured, if anything is required. The exit status is `measured`, or that of the
/// outcome if it matters more.
///
/// The outcome goes to standard error if standard output has JSON.
///
/// # Errors
/// If the outcome cannot be printed.
pub fn after_measuring<'r>(
    runs: impl IntoIterator<Item = &'r Run>,
    required: &[Requirement],
    json: bool,
    measured: Exit,
) -> Result<Exit> {
    if required.is_empty() {
        return Ok(measured);
    }
    let judged: Vec<Judged> = runs
        .into_iter()
        .flat_map(|run| Judged::all(run, &tardy_analyse::name::of_run(run), required))
        .collect();
    let text = (forms::by_name("text").expect("a form").write)(&judged);
    match json {
        true => text.lines().for_each(output::report),
        false => output::print(&format!("\n{text}"))?,
    }
    Ok(Exit::that_matters_most([measured, exit(forms::outcome(&judged))]))
}

/// The exit status of an outcome.
pub fn exit(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Passed => Exit::Done,
        Outcome::Inconclusive => Exit::Inconclusive,
        Outcome::Failed => Exit::Failed,
        Outcome::Invalid => Exit::Invalid,
    }
}
