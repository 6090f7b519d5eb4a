//! `tardy archive audit`: who did what.

use anyhow::Result;
use tardy_archive::Audit;
use tardy_args::ArchiveArgs;
use tardy_plot::numbers::harmless;
use tardy_present::table::Table;

use crate::stores;
use tardy_command::{Exit, output};

/// Prints the audit log.
pub(super) fn run(arguments: &ArchiveArgs) -> Result<Exit> {
    drop(stores::to_read(&arguments.archive)?);
    let lines = Audit::read(&stores::records(&arguments.archive))?;
    if arguments.json {
        output::print_json(&lines)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::of_words(&["when", "who", "what", "subject", "note"]);
    for line in &lines {
        let action = serde_json::to_value(line.action)?.as_str().unwrap_or_default().replace('-', " ");
        table.push(vec![
            line.at.clone(),
            harmless(&line.who),
            action,
            harmless(&line.subject),
            harmless(&line.detail),
        ]);
    }
    output::print(&(table.lines(output::width()).join("\n") + "\n"))?;
    Ok(Exit::Done)
}
