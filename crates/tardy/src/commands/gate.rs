//! `tardy gate`: whether runs meet requirements.

mod baseline;

use std::path::Path;

use anyhow::Result;
use tardy_gate::forms::{self, Judged};
use tardy_plot::numbers::harmless;
use tardy_recipe::wrong;

use tardy_args::GateArgs;
use tardy_command::requirements::exit;
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

fn place(path: &Path) -> String {
    harmless(&path.display().to_string())
}
