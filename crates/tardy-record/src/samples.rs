//! The file of individual samples that accompanies a run with `tardy run --samples` (docs/samples.md).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The file of a run's individual samples, and how much of the run it holds.
///
/// For a run that has ended, kept and lost add up to what its series recorded. While it runs, samples that wait to be
/// written are in neither.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SamplesFile {
    /// The file's name as given on the command line.
    pub path: String,
    /// Samples that are lines of the file. After `kill -9` the file may have a few more lines.
    pub kept: u64,
    /// Samples that were recorded and count in every number of the run but have no line in the file: the disk was
    /// full, or the supervisor did not read them in time.
    pub lost: u64,
}

impl SamplesFile {
    /// Completes the counts for a run that has ended: samples that were recorded but are not in the file are lost.
    pub fn settle(&mut self, recorded: u64) {
        self.kept = self.kept.min(recorded);
        self.lost = recorded - self.kept;
    }

    /// A description of the contradiction between the counts and a run that has ended with `recorded` samples; `None`
    /// if there is none.
    pub(crate) fn contradiction(&self, recorded: u64) -> Option<String> {
        let accounted = self.kept.checked_add(self.lost);
        (accounted != Some(recorded)).then(|| {
            format!("{} kept and {} lost, but {recorded} samples were recorded", self.kept, self.lost)
        })
    }

    /// A message for the user if samples are missing.
    pub(crate) fn what_is_missing(&self) -> Option<String> {
        (self.lost > 0).then(|| {
            let all = self.kept.saturating_add(self.lost);
            format!(
                "{} of {all} samples are not in {}; they count in every number here",
                self.lost, self.path
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_samples_that_are_not_kept_are_lost() {
        let mut file = SamplesFile { path: "a.csv".to_owned(), kept: 90, lost: 0 };
        file.settle(100);
        assert_eq!((file.kept, file.lost), (90, 10));
        assert_eq!(
            file.what_is_missing().unwrap(),
            "10 of 100 samples are not in a.csv; they count in every number here"
        );
        file.settle(80);
        assert_eq!((file.kept, file.lost), (80, 0), "the count is limited to the recorded samples");
    }
}
