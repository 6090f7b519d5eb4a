//! The project's copy of the published results, as part of the program.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use serde::Deserialize;
use tardy_analyse::findings::Options;
use tardy_analyse::published::PublishedResult;

const TEXT: &str = include_str!("../../../data/published.toml");

/// What stands before an id where a run could be named.
const PREFIX: &str = "published:";

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    result: Vec<PublishedResult>,
    /// What warmth does to the boards: no result that a run could be held against.
    #[serde(default)]
    #[expect(
        dead_code,
        reason = "its place in the file is known, so that a slip of the fingers beside it is found"
    )]
    ambient: Vec<toml::Table>,
}

/// Findings with the published results beside them, and nothing else asked.
pub(crate) fn options() -> Result<Options<'static>> {
    Ok(Options { published: results()?, ..Options::default() })
}

/// Every published result.
pub(crate) fn results() -> Result<&'static [PublishedResult]> {
    static RESULTS: OnceLock<Vec<PublishedResult>> = OnceLock::new();
    if let Some(results) = RESULTS.get() {
        return Ok(results);
    }
    let file: File = toml::from_str(TEXT).context("data/published.toml, which is part of this tardy")?;
    Ok(RESULTS.get_or_init(|| file.result))
}

/// The published result that `path` means, where it is `published:ID` and no file.
pub(crate) fn named(path: &Path) -> Option<Result<&'static PublishedResult>> {
    let id = path.to_str()?.strip_prefix(PREFIX)?;
    let find = || {
        let results = results()?;
        results.iter().find(|result| result.id == id).with_context(|| {
            let near: Vec<&str> = results
                .iter()
                .map(|result| result.id.as_str())
                .filter(|other| has_a_word_of(other, id))
                .collect();
            let near =
                if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) };
            format!("no published result is called '{id}'{near}; 'tardy list --published' has all")
        })
    };
    Some(find())
}

/// Whether the two have the first part of their names in common.
fn has_a_word_of(one: &str, other: &str) -> bool {
    let first = |id: &str| id.split('-').next().unwrap_or_default().to_owned();
    first(one) == first(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_reads_and_every_result_says_who_published_it() {
        let results = results().unwrap();
        assert!(results.len() >= 31, "results were lost: {}", results.len());
        for result in results {
            assert!(!result.id.is_empty() && !result.source.is_empty(), "{result:?}");
        }
        let rpi = results.iter().find(|result| result.id == "rpi3-4.9-rt-idle").unwrap();
        assert_eq!((rpi.max_us, rpi.samples_per_thread), (Some(90.0), Some(100_000_000)));
    }
}
