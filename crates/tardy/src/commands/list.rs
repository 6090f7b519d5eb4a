//! `tardy list`: the runs of a directory, or the published results, one line each.

use anyhow::Result;
use tardy_present::published as shown;

use super::overview;
use tardy_args::ListArgs;
use tardy_command::{Exit, output};

/// Lists runs or published results.
pub(crate) fn run(arguments: &ListArgs) -> Result<Exit> {
    if !arguments.published {
        let key = arguments.sort.unwrap_or_default();
        let overview =
            overview::of(&arguments.directories, &arguments.query.query(), key, arguments.reverse)?;
        return overview::print(&overview, arguments.json);
    }
    let results = tardy_analyse::published::built_in();
    if arguments.json {
        output::print_json(&results)?;
    } else {
        output::print(&shown::list(results, output::width()))?;
    }
    Ok(Exit::Done)
}
