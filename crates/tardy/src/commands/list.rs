//! `tardy list --published`: the published results, one line each.

use anyhow::Result;
use tardy_present::published as shown;

use super::{output, published};
use crate::args::ListArgs;
use crate::exit::Exit;

/// Lists the published results.
pub(crate) fn run(arguments: &ListArgs) -> Result<Exit> {
    let results = published::results()?;
    if arguments.json {
        output::print_json(&results)?;
    } else {
        output::print(&shown::list(results, output::width()))?;
    }
    Ok(Exit::Done)
}
