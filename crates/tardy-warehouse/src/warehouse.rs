//! An archive whose run files are in a bucket and whose rows are in ClickHouse.
//!
//! A run file is stored first, then its rows, the one by which the run is known last; the run is acknowledged after that. Wherever a
//! process ends in between, the run is kept again without counting twice, since both stores replace what has the same address, or its
//! file is found by [`Warehouse::make_index`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tardy_archive::{
    Address, ArchiveError, BoardRuns, Candidate, Damage, Entry, Kept, Mark, NewFile, Query, Store, Stored,
};
use tardy_record::Run;

use crate::bucket::Bucket;
use crate::clickhouse::Database;
use crate::settings::Settings;

/// The end of the name of the file that names the services.
const SUFFIX: &str = "toml";
/// Runs whose rows are inserted together.
const AT_A_TIME: usize = 64;

/// An open archive.
#[derive(Debug)]
pub struct Warehouse {
    place: PathBuf,
    bucket: Bucket,
    clickhouse: Database,
}

impl Warehouse {
    /// Whether `path` is a file that names the services of an archive.
    pub fn is_at(path: &Path) -> bool {
        path.extension().is_some_and(|suffix| suffix == SUFFIX) && path.is_file()
    }

    /// The file of services and the address that the path of a run has, as in `warehouse.toml/runs/ab/cdef….run.json.gz`. `None` if it
    /// is another path.
    pub fn run_at(path: &Path) -> Option<(&Path, Address)> {
        Address::of_path(path).filter(|(place, _)| Self::is_at(place))
    }

    /// The run file that a path names, as [`Self::run_at`] has it. `None` if it is another path.
    ///
    /// # Errors
    /// If the file of services is wrong, the bucket does not answer, or the run is missing or damaged.
    pub fn stored_at(path: &Path) -> Option<Result<Stored, ArchiveError>> {
        let (place, address) = Self::run_at(path)?;
        Some(Self::of(place).and_then(|warehouse| warehouse.bucket.get(&address)))
    }

    /// Opens an archive to read it. Nothing is written.
    ///
    /// # Errors
    /// If the file is wrong, or ClickHouse does not answer or has no archive. The bucket is not asked.
    pub fn to_read(path: &Path) -> Result<Self, ArchiveError> {
        let warehouse = Self::of(path)?;
        warehouse.clickhouse.check(path)?;
        Ok(warehouse)
    }

    /// Opens an archive to add to it, and makes the tables if there are none.
    ///
    /// # Errors
    /// If the file is wrong, or a service does not answer or refuses.
    pub fn to_add(path: &Path) -> Result<Self, ArchiveError> {
        let warehouse = Self::of(path)?;
        warehouse.bucket.check()?;
        warehouse.clickhouse.make(path)?;
        Ok(warehouse)
    }

    fn of(path: &Path) -> Result<Self, ArchiveError> {
        let settings = Settings::read(path)?;
        let bucket = Bucket::of(&settings, path)?;
        let clickhouse = Database::of(&settings, path)?;
        Ok(Self { place: path.to_owned(), bucket, clickhouse })
    }

    /// The file that names the services.
    pub fn path(&self) -> &Path {
        &self.place
    }

    /// Makes the rows of all run files that have none, removes those whose file is missing, and returns the files that cannot be read.
    ///
    /// # Errors
    /// If a service fails. What was made stays.
    pub fn make_index(path: &Path) -> Result<(Self, Vec<ArchiveError>), ArchiveError> {
        let warehouse = Self::to_add(path)?;
        // Another process may be adding: the object of each row that is there now is in the later list.
        let known = warehouse.clickhouse.addresses()?;
        let (stored, _) = warehouse.bucket.list()?;
        let stored: BTreeSet<Address> = stored.into_iter().collect();
        let mut unreadable = Vec::new();
        let missing: Vec<&Address> = stored.difference(&known).collect();
        for addresses in missing.chunks(AT_A_TIME) {
            let mut candidates = Vec::new();
            for address in addresses {
                match warehouse
                    .bucket
                    .get(address)
                    .and_then(|Stored { name, content }| Candidate::of(&name, &content))
                {
                    Ok(candidate) => candidates.push(candidate),
                    Err(error @ ArchiveError::Service { .. }) => return Err(error),
                    Err(error) => unreadable.push(error),
                }
            }
            warehouse.clickhouse.insert(&candidates)?;
        }
        for address in known.difference(&stored) {
            warehouse.clickhouse.remove(address)?;
        }
        Ok((warehouse, unreadable))
    }

    /// Reads every run file, compares its content with its name, and all names with the rows. Returns the number of run files, and what
    /// is wrong.
    ///
    /// # Errors
    /// If a service fails.
    pub fn verify(&self) -> Result<(usize, Vec<Damage>), ArchiveError> {
        let known = self.clickhouse.addresses()?;
        let (files, others) = self.bucket.list()?;
        let mut damages: Vec<Damage> = Vec::new();
        let mut damage =
            |file: PathBuf, reason: &str| damages.push(Damage { file, reason: reason.to_owned() });
        for name in others {
            damage(name.into(), "it is not a run file of the archive");
        }
        for address in &files {
            match self.bucket.get(address) {
                Ok(Stored { name, content }) => {
                    if let Err(error) = Candidate::of(&name, &content) {
                        damage(address.path(), &format!("{error}; no page and no search shows it"));
                    }
                }
                Err(error @ ArchiveError::Service { .. }) => return Err(error),
                Err(error) => damage(address.path(), &error.to_string()),
            }
        }
        let files: BTreeSet<Address> = files.into_iter().collect();
        for address in known.difference(&files) {
            damage(
                address.path(),
                "ClickHouse has rows of this run, and its object is missing; restore it from a copy",
            );
        }
        for address in files.difference(&known) {
            damage(address.path(), "ClickHouse does not have this run; 'tardy archive index' makes its rows");
        }
        damages.sort_by(|one, other| one.file.cmp(&other.file));
        Ok((files.len(), damages))
    }

    /// Keeps files whose rows are inserted together.
    fn keep_some(&self, files: &[NewFile]) -> Result<Vec<Result<Kept, ArchiveError>>, ArchiveError> {
        let checked: Vec<Result<Candidate, ArchiveError>> =
            files.iter().map(|file| Candidate::of(&file.name, &file.content)).collect();
        let good = || checked.iter().filter_map(|candidate| candidate.as_ref().ok());
        let known = self.clickhouse.known(&good().map(|candidate| &candidate.address).collect::<Vec<_>>())?;
        let ids: BTreeSet<&str> =
            good().map(|candidate| candidate.run.origin.id.as_str()).filter(|id| !id.is_empty()).collect();
        let ids = self.clickhouse.with_ids(&ids)?;
        let mut batch = Batch { stored: BTreeSet::new(), ids: BTreeMap::new(), candidates: Vec::new() };
        let mut outcomes = Vec::new();
        for (file, candidate) in files.iter().zip(checked) {
            outcomes.push(match candidate {
                Ok(candidate) => match self.refusal(&candidate, &batch, &ids)? {
                    Some(error) => Err(error),
                    None => Ok(self.store(file, candidate, &known, &mut batch)?),
                },
                Err(error) => Err(error),
            });
        }
        self.clickhouse.insert(&batch.candidates)?;
        Ok(outcomes)
    }

    /// Why a run is not kept: the archive has it with other content.
    fn refusal(
        &self,
        candidate: &Candidate,
        batch: &Batch,
        ids: &BTreeMap<String, Address>,
    ) -> Result<Option<ArchiveError>, ArchiveError> {
        let id = &candidate.run.origin.id;
        if let Some((address, run)) = batch.ids.get(id).filter(|(address, _)| *address != candidate.address) {
            return Ok(Some(candidate.other_content(run, address.clone())));
        }
        match ids.get(id).filter(|address| **address != candidate.address) {
            Some(address) => match self.open(address) {
                Ok(known) => Ok(Some(candidate.other_content(&known, address.clone()))),
                Err(error @ ArchiveError::Service { .. }) => Err(error),
                Err(damaged) => Ok(Some(damaged)),
            },
            None => Ok(None),
        }
    }

    /// Stores the file of a run, unless it is there. Its rows are inserted with those of the batch.
    fn store(
        &self,
        file: &NewFile,
        candidate: Candidate,
        known: &BTreeSet<Address>,
        batch: &mut Batch,
    ) -> Result<Kept, ArchiveError> {
        let address = candidate.address.clone();
        if batch.stored.contains(&address) || known.contains(&address) && self.bucket.has(&address)? {
            return Ok(Kept::Known(address));
        }
        self.bucket.put(&address, &file.name, &file.content)?;
        batch.stored.insert(address.clone());
        let id = &candidate.run.origin.id;
        if !id.is_empty() {
            batch.ids.insert(id.clone(), (address.clone(), candidate.run.clone()));
        }
        batch.candidates.push(candidate);
        Ok(Kept::New(address))
    }
}

/// Runs whose rows are inserted together.
struct Batch {
    stored: BTreeSet<Address>,
    /// The runs with an identity.
    ids: BTreeMap<String, (Address, Run)>,
    candidates: Vec<Candidate>,
}

impl Store for Warehouse {
    fn find(&self, query: &Query) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        self.clickhouse.find_all(query)
    }

    fn page(
        &self,
        query: &Query,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        self.clickhouse.page(query, after, limit)
    }

    fn count(&self, query: &Query) -> Result<u64, ArchiveError> {
        self.clickhouse.count(query)
    }

    fn kernels(&self) -> Result<Vec<(String, u64)>, ArchiveError> {
        self.clickhouse.kernels()
    }

    fn added_since(&self, mark: Option<&Mark>) -> Result<(Vec<Address>, Mark), ArchiveError> {
        self.clickhouse.added_since(mark)
    }

    fn has(&self, address: &Address) -> Result<bool, ArchiveError> {
        Ok(self.clickhouse.known(&[address])?.contains(address))
    }

    fn boards(&self) -> Result<Vec<BoardRuns>, ArchiveError> {
        self.clickhouse.boards()
    }

    fn get(&self, address: &Address) -> Result<Stored, ArchiveError> {
        self.bucket.get(address)
    }

    fn keep(&mut self, files: Vec<NewFile>) -> Result<Vec<Result<Kept, ArchiveError>>, ArchiveError> {
        let mut outcomes = Vec::new();
        for files in files.chunks(AT_A_TIME) {
            outcomes.extend(self.keep_some(files)?);
        }
        Ok(outcomes)
    }

    fn remove(&mut self, address: &Address) -> Result<bool, ArchiveError> {
        // Either may be left of a removal that was interrupted.
        let was_there = self.clickhouse.known(&[address])?.contains(address) | self.bucket.has(address)?;
        if was_there {
            self.clickhouse.remove(address)?;
            self.bucket.remove(address)?;
        }
        Ok(was_there)
    }
}
