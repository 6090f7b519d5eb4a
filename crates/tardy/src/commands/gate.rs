//! `tardy gate`: whether runs meet requirements.

mod baseline;

use std::path::Path;

use anyhow::Result;
use tardy_gate::forms::{self, Judged};
use tardy_gate::{Outcome, Requirement};
use tardy_plot::numbers::harmless;
use tardy_recipe::wrong;
use tardy_record::Run;

use tardy_args::GateArgs;
use tardy_command::{Exit, output};

/// Judges each run by each requirement, and prints and writes the outcome.
pub(crate) fn run(arguments: &GateArgs) -> Result<Exit> {
    let required = &arguments.requirements.require;
    let baseline = &arguments.baseline;
    if required.is_empty() && baseline.baseline.is_empty() {
        return Err(wrong(
            "require",
            "nothing is required; add for example --require 'p99.9<500us', or --baseline DIR",
        )
        .into());
    }
    let accepted = baseline::Accepted::claim(baseline)?;
    // The places of results are claimed first: a gate that cannot write its result must not pass.
    let files = arguments.write.iter().map(|one| output::claim(&one.path, &arguments.runs, arguments.force));
    let files = files.collect::<Result<Vec<_>>>()?;
    let runs = output::open_runs(&arguments.runs, arguments.redaction)?;
    let mut judged = Vec::new();
    for (run, path) in runs.iter().zip(&arguments.runs) {
        judged.extend(Judged::all(run, &place(path), required));
    }
    judged.extend(baseline::judged(baseline, &runs, &arguments.runs)?);
    for (file, one) in files.iter().zip(&arguments.write) {
        file.write((one.form.write)(&judged).as_bytes())?;
        output::report(&format!("{} {}", one.form.name, file.path().display()));
    }
    let form = if arguments.json { forms::by_name("json").expect("a form") } else { arguments.to };
    match form.name {
        "text" => output::print(&(form.write)(&judged))?,
        _ => output::print_content(&(form.write)(&judged))?,
    }
    match accepted {
        Some(accepted) => accepted.replace(&arguments.runs, &runs, &judged),
        None => Ok(exit(forms::outcome(&judged))),
    }
}

/// Judges the runs that a command has just measured, if anything is required. The exit status is `measured`, or that of the
/// outcome if it matters more.
///
/// The outcome goes to standard error if standard output has JSON.
pub(super) fn after_measuring<'r>(
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

fn exit(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Passed => Exit::Done,
        Outcome::Inconclusive => Exit::Inconclusive,
        Outcome::Failed => Exit::Failed,
        Outcome::Invalid => Exit::Invalid,
    }
}

fn place(path: &Path) -> String {
    harmless(&path.display().to_string())
}
