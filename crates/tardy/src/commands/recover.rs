//! `tardy recover`: writes the last numbers of killed runs into their files.

use anyhow::Result;
use tardy_measure::recovery;

use super::output;
use crate::args::RecoverArgs;
use crate::exit::Exit;

/// Seals each run file. A file that cannot be sealed is reported, and the others are sealed nevertheless.
pub(crate) fn run(arguments: &RecoverArgs) -> Result<Exit> {
    let mut exit = Exit::Done;
    for path in &arguments.runs {
        match recovery::seal(path) {
            Ok(opened) => {
                let remark = opened.remark.unwrap_or_default();
                output::report(&format!("{}: {remark}", path.display()));
            }
            Err(error) => {
                output::report(&error.to_string());
                exit = Exit::CouldNot;
            }
        }
    }
    Ok(exit)
}
