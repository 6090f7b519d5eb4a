//! Adding runs to an archive, as `--keep` does: `tardy-archive` opens the archive, and what became of each run is reported here.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tardy_plot::numbers::counted;

use crate::{archives, executables, message, opened, output};

/// The command of `tardy-archive` that adds: the archive follows, and its input has a [`Content`] as JSON in a line, and the bytes, for each
/// run.
pub const ADD: &str = "__add";
/// What it prints once the archive is open.
pub const OPENED: &str = "opened";

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
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
#[derive(Debug, Serialize, Deserialize)]
pub struct Added {
    /// What messages call the file.
    pub file: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The path of the run in the archive; absent if it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<PathBuf>,
    /// The error; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What became of the files so far.
#[derive(Debug)]
pub struct Results {
    /// The archive.
    pub archive: PathBuf,
    /// Each file.
    pub all: Vec<Added>,
}

impl Results {
    /// None yet.
    pub fn new(archive: &Path) -> Self {
        Self { archive: archive.to_owned(), all: Vec::new() }
    }

    /// What messages call the run file at `path`, its name and its content. One that cannot be read is noted.
    pub fn opened(&mut self, path: &Path) -> Option<(String, String, Vec<u8>)> {
        let label = path.display().to_string();
        match opened::content_of(path) {
            Ok((name, content)) => Some((label, name, content)),
            Err(error) => {
                self.failed(label, message(&error));
                None
            }
        }
    }

    /// Notes a file that cannot be read.
    pub fn failed(&mut self, file: String, error: String) {
        self.all.push(Added { file, outcome: Outcome::Failed, run: None, error: Some(error) });
    }

    /// Reports what is not kept, and how many are. Returns whether all are.
    pub fn report(&self, json: bool) -> Result<bool> {
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

/// Describes a run file whose bytes follow.
#[derive(Debug, Serialize, Deserialize)]
pub struct Content {
    /// What messages call it.
    pub label: String,
    /// The name of the file.
    pub name: String,
    /// Its length.
    pub bytes: usize,
}

/// Runs that are being added to an archive.
#[derive(Debug)]
pub struct Addition {
    child: Child,
    /// `None` once all is sent.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    results: Results,
}

impl Addition {
    /// Opens the archive, or makes it.
    ///
    /// # Errors
    /// If that fails, or if `tardy-archive` is not installed.
    pub fn to(archive: &Path) -> Result<Self> {
        let mut command = executables::command(archives::PROGRAM)?;
        command.arg(ADD).arg(archive).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A terminal's Ctrl-C is for this process, which may have runs to keep before it ends.
        command.process_group(0);
        let mut child = command.spawn().context("tardy-archive cannot be started")?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut addition = Self { child, input, output, results: Results::new(archive) };
        match addition.answer::<String>()? {
            answer if answer == OPENED => Ok(addition),
            answer => bail!("tardy-archive answers '{answer}'"),
        }
    }

    /// The next line of the program; its error if there is none.
    fn answer<T: for<'de> Deserialize<'de>>(&mut self) -> Result<T> {
        let mut line = String::new();
        self.output.read_line(&mut line).context("the answer of tardy-archive cannot be read")?;
        if line.is_empty() {
            let mut said = String::new();
            let _ = self.child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
            let status = self.child.wait().context("tardy-archive cannot be waited for")?;
            match said.trim() {
                "" => bail!("tardy-archive ended ({status})"),
                said => bail!("{said}"),
            }
        }
        serde_json::from_str(&line).context("the answer of tardy-archive cannot be read")
    }

    /// Adds a run file with this content. `label` names it in messages.
    ///
    /// # Errors
    /// If the archive fails.
    pub fn content(&mut self, label: String, name: &str, content: &[u8]) -> Result<()> {
        let described = Content { label, name: name.to_owned(), bytes: content.len() };
        let line = serde_json::to_string(&described)? + "\n";
        let input = self.input.as_mut().context("the archive is closed")?;
        match input.write_all(line.as_bytes()).and_then(|()| input.write_all(content)) {
            Ok(()) => Ok(()),
            // It has ended: its error says why.
            Err(_) => self.answer::<String>().map(drop),
        }
    }

    /// Adds a run file.
    ///
    /// # Errors
    /// If the archive fails. A file that cannot be read is a result.
    pub fn file(&mut self, path: &Path) -> Result<()> {
        match self.results.opened(path) {
            Some((label, name, content)) => self.content(label, &name, &content),
            None => Ok(()),
        }
    }

    /// Waits until all runs are on the disk, reports what is not kept and how many are, and returns whether all are.
    ///
    /// # Errors
    /// If the archive fails.
    pub fn finish(mut self, json: bool) -> Result<bool> {
        // The end of its input.
        self.input = None;
        let all: Vec<Added> = self.answer()?;
        self.child.wait().context("tardy-archive cannot be waited for")?;
        self.results.all.extend(all);
        self.results.report(json)
    }
}

/// A run that is not measured after all leaves no process.
impl Drop for Addition {
    fn drop(&mut self) {
        self.input = None;
        // It ends at the end of its input, once its answer is read.
        let _ = io::copy(&mut self.output, &mut io::sink());
        let _ = self.child.wait();
    }
}
