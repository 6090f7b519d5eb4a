//! What is missing of runs that did not reach their planned end: interrupted, killed, or still in progress.
//!
//! The readings that such a run has are as good as those of a run that was planned to be shorter, so the outcome is decided by them
//! alone. Every form states what is missing.

use tardy_analyse::name;
use tardy_plot::numbers::{first_few, harmless};
use tardy_record::Run;
use tardy_record::validity::what_is_missing;

/// What is missing of `run`; `None` if it is complete.
pub fn of_run(run: &Run) -> Option<String> {
    what_is_missing(run)
}

/// What is missing of each of `runs` that is not complete, behind its name.
pub fn of_runs<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Vec<String> {
    let one = |run: &'r Run| Some(format!("{}: {}", harmless(&name::of_run(run)), of_run(run)?));
    runs.into_iter().filter_map(one).collect()
}

/// `missing` as a sentence; `None` if it is empty.
pub(crate) fn sentence(missing: &[String]) -> Option<String> {
    (!missing.is_empty()).then(|| format!("Incomplete: {}.", first_few(missing, "; ")))
}
