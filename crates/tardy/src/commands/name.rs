//! `tardy name`: names a run.

use anyhow::Result;
use tardy_measure::recovery;

use super::output;
use crate::args::NameArgs;
use crate::exit::Exit;

/// Writes the name into the run file.
pub(crate) fn run(arguments: &NameArgs) -> Result<Exit> {
    let previous = recovery::rename(&arguments.run, arguments.name.as_deref())?;
    let path = arguments.run.display();
    output::report(&match (&arguments.name, previous) {
        (name, previous) if *name == previous => format!("{path}: the name is unchanged"),
        (Some(name), None) => format!("{path}: named '{name}'"),
        (Some(name), Some(previous)) => format!("{path}: named '{name}', formerly '{previous}'"),
        (None, _) => format!("{path}: the name was removed; the run is named after its file"),
    });
    Ok(Exit::Done)
}
