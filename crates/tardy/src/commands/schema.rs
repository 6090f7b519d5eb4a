//! `tardy schema`: the JSON Schema of run files, from the types that are written.

use anyhow::Result;
use tardy_record::Run;

use tardy_command::{Exit, output};

/// Prints the schema.
pub(crate) fn run() -> Result<Exit> {
    output::print_json(&schemars::schema_for!(Run))?;
    Ok(Exit::Done)
}
