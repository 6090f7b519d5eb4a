//! Published results on the command line.

use std::path::Path;

use anyhow::{Result, anyhow};
use tardy_analyse::findings::Options;
use tardy_analyse::published::{PublishedResult, built_in, built_in_named};

/// The prefix of a published result's id on the command line.
const PREFIX: &str = "published:";

/// The options of findings: the published results, and otherwise the defaults.
pub fn options() -> Options<'static> {
    Options { published: built_in(), ..Options::default() }
}

/// The published result that `path` names as `published:ID`; `None` if it is a file.
pub fn named(path: &Path) -> Option<Result<&'static PublishedResult>> {
    let id = path.to_str()?.strip_prefix(PREFIX)?;
    Some(built_in_named(id).map_err(|reason| anyhow!(reason)))
}
