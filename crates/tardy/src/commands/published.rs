//! The published results, which are part of the program.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result};
use serde::Deserialize;
use tardy_analyse::findings::Options;
use tardy_analyse::published::PublishedResult;

const TEXT: &str = include_str!("../../../../data/published.toml");

/// The prefix of a published result's id on the command line.
const PREFIX: &str = "published:";

/// The content of data/published.toml.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    result: Vec<PublishedResult>,
    /// The effect of temperature on boards; not a result to compare a run with.
    #[serde(default)]
    #[expect(dead_code, reason = "it is declared so that unknown keys are errors")]
    ambient: Vec<toml::Table>,
}

/// The options of findings: the published results, and otherwise the defaults.
pub(crate) fn options() -> Result<Options<'static>> {
    Ok(Options { published: results()?, ..Options::default() })
}

/// Every published result.
pub(crate) fn results() -> Result<&'static [PublishedResult]> {
    static RESULTS: OnceLock<Vec<PublishedResult>> = OnceLock::new();
    if let Some(results) = RESULTS.get() {
        return Ok(results);
    }
    let file: File = toml::from_str(TEXT).context("built-in data/published.toml")?;
    Ok(RESULTS.get_or_init(|| file.result))
}

/// The published result that `path` names as `published:ID`; `None` if it is a file.
pub(crate) fn named(path: &Path) -> Option<Result<&'static PublishedResult>> {
    let id = path.to_str()?.strip_prefix(PREFIX)?;
    let find = || {
        let results = results()?;
        results.iter().find(|result| result.id == id).with_context(|| {
            let near: Vec<&str> = results
                .iter()
                .map(|result| result.id.as_str())
                .filter(|other| has_the_prefix_of(other, id))
                .collect();
            let near =
                if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
            format!("no published result '{id}'{near}; 'tardy list --published' lists them")
        })
    };
    Some(find())
}

/// Whether two ids are equal up to the first dash.
fn has_the_prefix_of(one: &str, other: &str) -> bool {
    let first = |id: &str| id.split('-').next().unwrap_or_default().to_owned();
    first(one) == first(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redaction_keeps_the_ids_of_published_results() {
        for result in results().unwrap() {
            assert!(tardy_record::redact::is_known_result(&result.id), "{}", result.id);
        }
    }

    #[test]
    fn every_published_result_parses_and_has_a_source() {
        let results = results().unwrap();
        assert!(results.len() >= 31, "results were lost: {}", results.len());
        for result in results {
            assert!(!result.id.is_empty() && !result.source.is_empty(), "{result:?}");
        }
        let rpi = results.iter().find(|result| result.id == "rpi3-4.9-rt-idle").unwrap();
        assert_eq!((rpi.max_us, rpi.samples_per_thread), (Some(90.0), Some(100_000_000)));
    }
}
