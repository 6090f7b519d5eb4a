//! The published results of `data/published.toml`, which are part of the program.

use std::sync::OnceLock;

use serde::Deserialize;

use super::PublishedResult;

const TEXT: &str = include_str!("../../../../data/published.toml");

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

/// Every published result.
///
/// # Panics
/// Never: a test parses the file, which is part of the program.
pub fn built_in() -> &'static [PublishedResult] {
    static RESULTS: OnceLock<Vec<PublishedResult>> = OnceLock::new();
    RESULTS.get_or_init(|| {
        let file: File = toml::from_str(TEXT).expect("data/published.toml is part of the program");
        file.result
    })
}

/// The published result with this id.
///
/// # Errors
/// If there is none: a message that names similar ones.
pub fn built_in_named(id: &str) -> Result<&'static PublishedResult, String> {
    built_in().iter().find(|result| result.id == id).ok_or_else(|| {
        let similar = built_in().iter().map(|result| result.id.as_str());
        let similar: Vec<&str> = similar.filter(|other| has_the_prefix_of(other, id)).collect();
        let similar = match similar.is_empty() {
            true => String::new(),
            false => format!("; similar: {}", similar.join(", ")),
        };
        format!("no published result '{id}'{similar}; 'tardy list --published' lists them")
    })
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
    fn every_published_result_parses_and_has_a_source() {
        let results = built_in();
        assert!(results.len() >= 31, "results were lost: {}", results.len());
        for result in results {
            assert!(!result.id.is_empty() && !result.source.is_empty(), "{result:?}");
        }
        let rpi = built_in_named("rpi3-4.9-rt-idle").unwrap();
        assert_eq!((rpi.max_us, rpi.samples_per_thread), (Some(90.0), Some(100_000_000)));
        assert!(built_in_named("rpi3-4.9").unwrap_err().contains("similar: rpi3-"));
    }
}
