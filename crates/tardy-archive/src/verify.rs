//! Checking that every run of an archive is what it was.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use crate::address::{Address, RUNS};
use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::layout::{names, stored, stored_files};

/// Something that is wrong with an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The file, relative to the archive.
    pub file: PathBuf,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl Archive {
    /// Reads every run file, compares its content with its name, and all names with the index. Returns the number of run files, and
    /// what is wrong.
    ///
    /// # Errors
    /// If the index or a directory cannot be read.
    pub fn verify(&self) -> Result<(usize, Vec<Damage>), ArchiveError> {
        let files = stored_files(&self.path)?;
        let mut damages = self.strangers()?;
        for address in &files {
            if let Err(error) = stored(&self.path, address) {
                let reason = match error {
                    ArchiveError::Damaged { reason, .. } => {
                        format!("{reason}; restore it from a copy of the archive")
                    }
                    other => other.to_string(),
                };
                damages.push(Damage { file: address.path(), reason });
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
