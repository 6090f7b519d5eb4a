//! `tardy archive index`: makes the index of an archive again.

use anyhow::Result;
use serde::Serialize;
use tardy_archive::Query;
use tardy_args::ArchiveArgs;
use tardy_plot::numbers::counted;

use crate::stores;
use tardy_command::{Exit, output};

/// What the index has.
#[derive(Serialize)]
struct Indexed {
    /// Runs.
    runs: usize,
    /// Why other files are not in it.
    unreadable: Vec<String>,
}

/// Makes the index again.
pub(super) fn run(arguments: &ArchiveArgs) -> Result<Exit> {
    let (archive, unreadable) = stores::make_index(&arguments.archive)?;
    let unreadable: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
    let indexed = Indexed { runs: archive.find(&Query::default())?.len(), unreadable };
    if arguments.json {
        output::print_json(&indexed)?;
    } else {
        indexed.unreadable.iter().for_each(|error| output::report(error));
        let runs = counted(indexed.runs as u64, "run", "runs");
        output::report(&format!("archive {}: {runs} in the index", arguments.archive.display()));
    }
    Ok(if indexed.unreadable.is_empty() { Exit::Done } else { Exit::CouldNot })
}
