//! `tardy name`: names a run.

use anyhow::Result;
use serde::Serialize;
use tardy_measure::recovery;

use tardy_args::NameArgs;
use tardy_command::{Exit, output};

/// The result as JSON.
#[derive(Serialize)]
struct Named<'a> {
    file: String,
    /// The name; `None` if the run is named after its file.
    name: Option<&'a str>,
    /// The name before.
    previous: Option<String>,
}

/// Writes the name into the run file.
pub(crate) fn run(arguments: &NameArgs) -> Result<Exit> {
    let name = arguments.name.as_deref();
    let previous = recovery::rename(&arguments.run, name)?;
    let path = arguments.run.display();
    if arguments.json {
        output::print_json(&Named { file: path.to_string(), name, previous })?;
        return Ok(Exit::Done);
    }
    output::report(&match (name, previous.as_deref()) {
        (name, previous) if name == previous => format!("{path}: the name is unchanged"),
        (Some(name), None) => format!("{path}: named '{name}'"),
        (Some(name), Some(previous)) => format!("{path}: named '{name}', formerly '{previous}'"),
        (None, _) => format!("{path}: the name was removed; the run is named after its file"),
    });
    Ok(Exit::Done)
}
