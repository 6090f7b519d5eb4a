//! Runs as a link: redacted, reduced, and with the list of what both left out.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tardy_record::Run;
use tardy_redact::redact_except;
use thiserror::Error;

use crate::link::{self, LinkError};
use crate::reduction::reduced;

/// A link, and what it lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shared {
    /// The link.
    pub link: String,
    /// What the report's first screen does not need, and was left out.
    pub left_out: Vec<String>,
    /// The fields that identify a machine, a user or a project and were changed, with the number of their texts.
    pub redacted: BTreeMap<String, usize>,
}

/// How many parts of a field's name are listed.
const GROUPED_AT: usize = 3;

impl Shared {
    /// [`Self::redacted`] for a list that a person reads.
    pub fn redacted_groups(&self) -> BTreeMap<String, usize> {
        let mut groups = BTreeMap::new();
        for (field, count) in &self.redacted {
            *groups.entry(group(field)).or_default() += count;
        }
        groups
    }
}

/// Why runs cannot be shared.
#[derive(Debug, Error)]
pub enum ShareError {
    /// A field to keep is not among those that are changed.
    #[error("nothing is removed from '{keep}'; removed from these runs: {removed}")]
    KeepsNothing {
        /// The field.
        keep: String,
        /// The fields that would be changed.
        removed: String,
    },
    /// A run cannot be redacted or reduced.
    #[error("the run cannot be shared: {0}")]
    Run(#[from] tardy_record::file::RunFileError),
    /// There is no run, or there are too many.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The link to `runs`. The fields `keep` are not redacted. `screen` has the sentences of the first screen of a run's report.
///
/// # Errors
/// If a field of `keep` is not redacted anyway, or the number of runs does not fit.
pub fn shared(
    runs: &[&Run],
    keep: &[String],
    base: &str,
    screen: &dyn Fn(&Run) -> Vec<String>,
) -> Result<Shared, ShareError> {
    if runs.is_empty() || runs.len() > link::RUNS_MAX {
        return Err(LinkError::Count(runs.len()).into());
    }
    refuse_needless(runs, keep)?;
    let (mut left_out, mut changed) = (BTreeSet::new(), BTreeMap::new());
    let mut small = Vec::new();
    for run in runs {
        let redacted = redact_except(run, keep)?;
        for (field, count) in redacted.changed {
            *changed.entry(field).or_default() += count;
        }
        let reduced = reduced(&redacted.run, screen)?;
        left_out.extend(reduced.left_out);
        small.push(reduced.run);
    }
    let link = link::of_runs(&small.iter().collect::<Vec<_>>(), base)?;
    Ok(Shared { link, left_out: left_out.into_iter().collect(), redacted: changed })
}

/// The field without what is below its third part: of the kernel's configuration hundreds of options are redacted.
fn group(field: &str) -> String {
    field.split('.').take(GROUPED_AT).collect::<Vec<_>>().join(".")
}

fn refuse_needless(runs: &[&Run], keep: &[String]) -> Result<(), ShareError> {
    if keep.is_empty() {
        return Ok(());
    }
    let mut removed: BTreeSet<String> = BTreeSet::new();
    for run in runs {
        removed.extend(redact_except(run, &[])?.changed.into_keys());
    }
    let is_removed = |keep: &String| {
        removed.iter().any(|field| {
            field.strip_prefix(keep.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    match keep.iter().find(|keep| !is_removed(keep)) {
        None => Ok(()),
        Some(keep) => Err(ShareError::KeepsNothing {
            keep: keep.clone(),
            removed: removed
                .iter()
                .map(|field| group(field))
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}
