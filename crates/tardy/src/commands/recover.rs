//! `tardy recover`: writes the last numbers of killed runs into their files.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use tardy_measure::recovery;

use tardy_args::RecoverArgs;
use tardy_command::{Exit, output};

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// The run was cut short, and its last numbers were written.
    Sealed,
    /// The run was sealed before; nothing was written.
    Unchanged,
    /// The file cannot be sealed.
    Failed,
}

/// The result of a file.
#[derive(Serialize)]
struct Recovered {
    file: String,
    outcome: Outcome,
    /// The source of the numbers, or the error.
    message: String,
}

/// Seals each run file. A file that cannot be sealed is reported, and the others are sealed nevertheless.
pub(crate) fn run(arguments: &RecoverArgs) -> Result<Exit> {
    let all: Vec<Recovered> = arguments.runs.iter().map(|path| seal(path)).collect();
    if arguments.json {
        output::print_json(&all)?;
    } else {
        for Recovered { file, outcome, message } in &all {
            match outcome {
                Outcome::Failed => output::report(message),
                Outcome::Sealed | Outcome::Unchanged => output::report(&format!("{file}: {message}")),
            }
        }
    }
    let has_failed = all.iter().any(|recovered| recovered.outcome == Outcome::Failed);
    Ok(if has_failed { Exit::CouldNot } else { Exit::Done })
}

fn seal(path: &Path) -> Recovered {
    let (outcome, message) = match recovery::seal(path) {
        Ok(Some(source)) => (Outcome::Sealed, source),
        Ok(None) => (Outcome::Unchanged, "this run is sealed; nothing was written".to_owned()),
        Err(error) => (Outcome::Failed, error.to_string()),
    };
    Recovered { file: path.display().to_string(), outcome, message }
}
