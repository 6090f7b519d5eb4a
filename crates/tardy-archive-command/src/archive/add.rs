//! `tardy archive add`, and what adds to an archive for other commands.

use std::path::Path;

use anyhow::{Context, Result};
use tardy_archive::{ArchiveError, Kept, NewFile, Store};
use tardy_args::ArchiveAddArgs;

use tardy_command::additions::{Added, Outcome, Results};
use tardy_command::{Exit, file_tree, opened};

use crate::stores;

/// Runs that are being added to an archive.
pub(crate) struct StoreAddition {
    store: Box<dyn Store>,
    /// Files whose fate is not known yet, and what messages call them.
    labels: Vec<String>,
    files: Vec<NewFile>,
    /// What became of the files so far.
    pub(crate) results: Results,
}

/// Files that are kept together, and bytes of them: few waits for the disk, and little memory.
const AT_A_TIME: (usize, usize) = (256, 64 << 20);

impl StoreAddition {
    /// Opens the archive, or makes it.
    pub(crate) fn to(archive: &Path) -> Result<Self> {
        let results = Results::new(archive);
        Ok(Self { store: stores::to_add(archive)?, labels: Vec::new(), files: Vec::new(), results })
    }

    /// Adds a run file with this content. `label` names it in messages.
    pub(crate) fn content(&mut self, label: String, name: &str, content: Vec<u8>) -> Result<()> {
        self.labels.push(label);
        self.files.push(NewFile { name: name.to_owned(), content });
        let bytes: usize = self.files.iter().map(|file| file.content.len()).sum();
        if self.files.len() < AT_A_TIME.0 && bytes < AT_A_TIME.1 { Ok(()) } else { self.keep() }
    }

    /// Waits until the files so far are kept.
    fn keep(&mut self) -> Result<()> {
        let labels = std::mem::take(&mut self.labels);
        let outcomes = self.store.keep(std::mem::take(&mut self.files))?;
        for (file, outcome) in labels.into_iter().zip(outcomes) {
            let added = self.added(file, outcome);
            self.results.all.push(added);
        }
        Ok(())
    }

    fn added(&self, file: String, outcome: Result<Kept, ArchiveError>) -> Added {
        let (outcome, kept) = match outcome {
            Ok(kept @ Kept::New(_)) => (Outcome::Added, kept),
            Ok(kept @ Kept::Known(_)) => (Outcome::Known, kept),
            Err(error) => {
                let outcome = if is_about_the_run(&error) { Outcome::Refused } else { Outcome::Failed };
                return Added { file, outcome, run: None, error: Some(error.to_string()) };
            }
        };
        let run = Some(self.results.archive.join(kept.address().path()));
        Added { file, outcome, run, error: None }
    }

    /// Adds a run file.
    pub(crate) fn file(&mut self, path: &Path) -> Result<()> {
        match self.results.opened(path) {
            Some((label, name, content)) => self.content(label, &name, content),
            None => Ok(()),
        }
    }

    /// Waits until all runs are on the disk.
    pub(crate) fn results(mut self) -> Result<Results> {
        self.keep()?;
        Ok(self.results)
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
    let mut addition = StoreAddition::to(&arguments.archive)?;
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
    Ok(if addition.results()?.report(arguments.json)? { Exit::Done } else { Exit::CouldNot })
}
