//! Checking that every run of an archive is what it was.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use crate::address::{Address, RUNS};
use crate::archive::{self, Archive};
use crate::error::ArchiveError;
use crate::layout::{AT_A_TIME, names, stored, stored_files};
use crate::parallel;

/// Something that is wrong with an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The file, relative to the archive.
    pub file: PathBuf,
    /// What is wrong, and what to do.
    pub reason: String,
}

/// What to do with a file whose content is not what it was.
const DAMAGED: &str = "restore it from a copy of the archive";
/// What to do with a run that was kept and cannot be read: an earlier tardy may have accepted more.
const NOT_A_RUN: &str =
    "no page and no search shows it; remove the file, or restore it from a copy of the archive";

fn unreadable(error: ArchiveError, what_to_do: &str) -> String {
    match error {
        ArchiveError::Damaged { reason, .. } => format!("{reason}; {what_to_do}"),
        other => other.to_string(),
    }
}

impl Archive {
    /// Reads every run file, compares its content with its name, all names with the index, and what the index has of each run with what
    /// its file results in. Returns the number of run files, and what is wrong.
    ///
    /// # Errors
    /// If the index or a directory cannot be read.
    pub fn verify(&self) -> Result<(usize, Vec<Damage>), ArchiveError> {
        let files = stored_files(&self.path)?;
        let mut damages = self.strangers()?;
        let path = &self.path;
        for part in files.chunks(AT_A_TIME) {
            let outcomes = parallel::map(part, |address| match stored(path, address) {
                Ok(stored) => {
                    archive::outcome_of(path, address, stored).map_err(|error| unreadable(error, NOT_A_RUN))
                }
                Err(error) => Err(unreadable(error, DAMAGED)),
            });
            for (address, outcome) in part.iter().zip(outcomes) {
                let reason = match outcome {
                    Err(reason) => Some(reason),
                    Ok((id, outcome)) => self.index.difference(address, &id, &outcome)?.map(|differs| {
                        format!("the index does not agree with it: {differs}; 'tardy archive index' makes it again")
                    }),
                };
                damages.extend(reason.map(|reason| Damage { file: address.path(), reason }));
            }
        }
        let (files, known): (BTreeSet<Address>, BTreeSet<Address>) =
            (files.into_iter().collect(), self.index.stored()?.into_iter().collect());
        let mut damage = |address: &Address, reason: &str| {
            damages.push(Damage { file: address.path(), reason: reason.to_owned() });
        };
        for address in known.difference(&files) {
            damage(
                address,
                "the index has this run, and its file is missing; restore it from a copy of the archive",
            );
        }
        for address in files.difference(&known) {
            damage(address, "the index does not have this run; 'tardy archive index' makes it again");
        }
        damages.sort_by(|one, other| one.file.cmp(&other.file));
        Ok((files.len(), damages))
    }

    /// Files below `runs` that are not run files of the archive.
    fn strangers(&self) -> Result<Vec<Damage>, ArchiveError> {
        let mut found = Vec::new();
        let mut stranger = |file: PathBuf| {
            let reason =
                "it is not a run file of the archive; remove it if nothing is adding runs".to_owned();
            found.push(Damage { file, reason });
        };
        for directory in names(&self.path.join(RUNS))? {
            let path: PathBuf = [RUNS, &directory].iter().collect();
            if !self.path.join(&path).is_dir() {
                stranger(path);
                continue;
            }
            for name in names(&self.path.join(&path))? {
                if Address::of_names(&directory, &name).is_none() {
                    stranger(path.join(name));
                }
            }
        }
        Ok(found)
    }
}
