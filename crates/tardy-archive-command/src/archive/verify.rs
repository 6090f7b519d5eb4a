//! `tardy archive verify`: checks that every run of an archive is what it was.

use anyhow::Result;
use serde::Serialize;
use tardy_archive::Damage;
use tardy_args::ArchiveArgs;
use tardy_plot::numbers::counted;

use crate::stores;
use tardy_command::{Exit, output};

/// What was found.
#[derive(Serialize)]
struct Verified {
    /// Run files that were read.
    runs: usize,
    /// What is wrong.
    damages: Vec<Damage>,
}

/// Checks every run; [`Exit::Failed`] if something is wrong.
pub(super) fn run(arguments: &ArchiveArgs) -> Result<Exit> {
    let (runs, damages) = stores::verify(&arguments.archive)?;
    let verified = Verified { runs, damages };
    if arguments.json {
        output::print_json(&verified)?;
    } else {
        let place = arguments.archive.display();
        for Damage { file, reason } in &verified.damages {
            output::report(&format!("{}: {reason}", arguments.archive.join(file).display()));
        }
        let runs = counted(verified.runs as u64, "run", "runs");
        let found = match verified.damages.len() {
            0 => "nothing is wrong".to_owned(),
            wrong => counted(wrong as u64, "thing is wrong", "things are wrong"),
        };
        output::report(&format!("archive {place}: {runs} read, {found}"));
    }
    Ok(if verified.damages.is_empty() { Exit::Done } else { Exit::Failed })
}
