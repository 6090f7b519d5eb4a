//! `tardy archive add`, and `--keep` of the commands that make runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use tardy_archive::{ArchiveError, Kept, NewFile, Store};
use tardy_args::ArchiveAddArgs;
use tardy_plot::numbers::counted;

use crate::commands::file_tree;
use tardy_command::{Exit, archives, opened, output};

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// The run was added.
    Added,
    /// The archive had it.
    Known,
    /// It is not kept, and never will be as it is.
    Refused,
    /// It is not kept, since a file or the disk failed.
    Failed,
}

/// The result of a file.
#[derive(Debug, Serialize)]
struct Added {
    file: String,
    outcome: Outcome,
    /// The path of the run in the archive; absent if it is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<PathBuf>,
    /// The error; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Runs that are being added to an archive.
pub(in crate::commands) struct Addition {
    store: Box<dyn Store>,
    /// Files whose fate is not known yet, and what messages call them.
    labels: Vec<String>,
    files: Vec<NewFile>,
    results: Results,
}

/// Files that are kept together, and bytes of them: few waits for the disk, and little memory.
const AT_A_TIME: (usize, usize) = (256, 64 << 20);

/// What became of the files so far.
struct Results {
    archive: PathBuf,
    all: Vec<Added>,
}

impl Results {
    fn failed(&mut self, file: String, error: String) {
        self.all.push(Added { file, outcome: Outcome::Failed, run: None, error: Some(error) });
    }

    fn note(&mut self, outcomes: impl Iterator<Item = (String, Result<Kept, ArchiveError>)>) {
        for (file, outcome) in outcomes {
            let (outcome, kept) = match outcome {
                Ok(kept @ Kept::New(_)) => (Outcome::Added, kept),
                Ok(kept @ Kept::Known(_)) => (Outcome::Known, kept),
                Err(error) => {
                    let outcome = if is_about_the_run(&error) { Outcome::Refused } else { Outcome::Failed };
                    self.all.push(Added { file, outcome, run: None, error: Some(error.to_string()) });
                    continue;
                }
            };
            let run = Some(self.archive.join(kept.address().path()));
            self.all.push(Added { file, outcome, run, error: None });
        }
    }

    /// Reports what is not kept, and how many are. Returns whether all are.
    fn report(&self, json: bool) -> Result<bool> {
        let count = |outcome: Outcome| self.all.iter().filter(|one| one.outcome == outcome).count() as u64;
        let failed = count(Outcome::Failed) + count(Outcome::Refused);
        if json {
            output::print_json(&self.all)?;
            return Ok(failed == 0);
        }
        for Added { file, error, .. } in &self.all {
            if let Some(error) = error {
                output::report(&format!("{file}: {error}"));
            }
        }
        let mut parts = vec![format!("{} added", counted(count(Outcome::Added), "run", "runs"))];
        let others = [(count(Outcome::Known), "in it before"), (failed, "not kept")];
        parts.extend(
            others.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")),
        );
        output::report(&format!("archive {}: {}", self.archive.display(), parts.join(", ")));
        Ok(failed == 0)
    }
}

impl Addition {
    /// Opens the archive, or makes it.
    pub(in crate::commands) fn to(archive: &Path) -> Result<Self> {
        let results = Results { archive: archive.to_owned(), all: Vec::new() };
        Ok(Self { store: archives::to_add(archive)?, labels: Vec::new(), files: Vec::new(), results })
    }

    /// Adds a run file with this content. `label` names it in messages.
    pub(in crate::commands) fn content(&mut self, label: String, name: &str, content: &[u8]) -> Result<()> {
        self.labels.push(label);
        self.files.push(NewFile { name: name.to_owned(), content: content.to_vec() });
        let bytes: usize = self.files.iter().map(|file| file.content.len()).sum();
        if self.files.len() < AT_A_TIME.0 && bytes < AT_A_TIME.1 { Ok(()) } else { self.keep() }
    }

    /// Waits until the files so far are kept.
    fn keep(&mut self) -> Result<()> {
        let labels = std::mem::take(&mut self.labels);
        let outcomes = self.store.keep(std::mem::take(&mut self.files))?;
        self.results.note(labels.into_iter().zip(outcomes));
        Ok(())
    }

    /// Adds a run file.
    pub(in crate::commands) fn file(&mut self, path: &Path) -> Result<()> {
        let label = path.display().to_string();
        match opened::content_of(path) {
            Ok((name, content)) => self.content(label, &name, &content),
            Err(error) => {
                self.results.failed(label, tardy_command::message(&error));
                Ok(())
            }
        }
    }

    /// Waits until all runs are on the disk, reports what is not kept and how many are, and returns whether all are.
    pub(in crate::commands) fn finish(mut self, json: bool) -> Result<bool> {
        self.keep()?;
        self.results.report(json)
    }
}

/// Whether an error is about the run itself, not about the archive or its disk.
fn is_about_the_run(error: &ArchiveError) -> bool {
    matches!(
        error,
        ArchiveError::InProgress
            | ArchiveError::TooLong { .. }
            | ArchiveError::NotARun(_)
            | ArchiveError::OtherContent { .. }
    )
}

/// Adds run files and directories of them.
pub(super) fn run(arguments: &ArchiveAddArgs) -> Result<Exit> {
    let mut addition = Addition::to(&arguments.archive)?;
    for path in &arguments.runs {
        if !path.is_dir() {
            addition.file(path)?;
            continue;
        }
        let tree = file_tree::below(path).with_context(|| format!("cannot read {}", path.display()))?;
        for (path, error) in &tree.unreadable {
            addition.results.failed(path.display().to_string(), error.to_string());
        }
        for file in &tree.files {
            if opened::is_run_file(file).unwrap_or(true) || file.to_string_lossy().ends_with(".run.json") {
                addition.file(file)?;
            }
        }
    }
    Ok(if addition.finish(arguments.json)? { Exit::Done } else { Exit::CouldNot })
}
