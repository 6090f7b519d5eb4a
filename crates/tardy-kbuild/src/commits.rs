//! The commits between two of a git tree that is there.

use std::path::Path;

use crate::error::BuildError;
use crate::git::Repository;

/// The digits of a commit that are shown.
const DIGITS: usize = 12;

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its name, in hexadecimal.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

impl std::fmt::Display for Commit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", &self.id[..DIGITS.min(self.id.len())], self.subject)
    }
}

/// The commits from `good` to `bad`, both included, along the first parents of `bad`: a merge counts as one commit.
///
/// # Errors
/// If one of them is not a commit, or `good` is not an ancestor of `bad`.
pub fn between(directory: &Path, good: &str, bad: &str) -> Result<Vec<Commit>, BuildError> {
    let repository = Repository::at(directory);
    let [first, last] = [repository.object(good, "commit")?, repository.object(bad, "commit")?];
    if repository.ask(&["merge-base", &first, &last])? != first {
        return Err(BuildError::NotAnAncestor { good: good.to_owned(), bad: bad.to_owned() });
    }
    let subject = |id: &str| repository.ask(&["show", "--no-patch", "--format=%s", id]);
    let mut all = vec![Commit { subject: subject(&first)?, id: first.clone() }];
    let range = format!("{first}..{last}");
    let listed = repository.ask(&["rev-list", "--first-parent", "--reverse", "--format=%s", &range])?;
    let mut lines = listed.lines();
    while let (Some(id), Some(subject)) = (lines.next(), lines.next()) {
        let id = id.strip_prefix("commit ").unwrap_or(id).to_owned();
        all.push(Commit { id, subject: subject.to_owned() });
    }
    Ok(all)
}
