//! Adding runs to an archive.
//!
//! The index notes a run before its file gets its name, and again after that: whenever the process is killed, the next one that adds
//! finds what is missing ([`Archive::to_add`]), and a run that was reported as kept is in its place on the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use tardy_record::run::State;
use tardy_record::{Run, file};
use tardy_sys::files::{self, Directory, Existing, StagedFile};

use crate::address::{Address, RUNS};
use crate::archive::Archive;
use crate::entry::{Entry, Outcome};
use crate::error::ArchiveError;
use crate::layout;
use crate::parallel;
use crate::stored;

/// The most bytes of a name: none of a real machine comes near.
const NAME_MAX: usize = 1024;
/// The most bytes of what lists and pages show of a run; those of a run of 64 CPUs, with its distributions, has about a tenth.
const ENTRY_MAX: usize = 1 << 20;

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It was added.
    New(Address),
    /// The archive had it.
    Known(Address),
}

impl Kept {
    /// Its address.
    pub fn address(&self) -> &Address {
        match self {
            Self::New(address) | Self::Known(address) => address,
        }
    }
}

/// A run whose file is written under a temporary name.
#[derive(Debug)]
struct Staged {
    address: Address,
    id: String,
    outcome: Outcome,
    file: StagedFile,
}

/// A run file that is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// The name of the file, which a run without a name gets.
    pub name: String,
    /// The run file, before compression.
    pub content: Vec<u8>,
}

/// A run file that may be kept.
#[derive(Debug)]
pub struct Candidate {
    /// The SHA-256 of its content.
    pub address: Address,
    /// The run as its file has it.
    pub run: Run,
    /// What a search compares.
    pub outcome: Outcome,
}

impl Candidate {
    /// That of a file with this name and content.
    ///
    /// # Errors
    /// If it is not a run file, or its run is in progress.
    pub fn of(name: &str, content: &[u8]) -> Result<Self, ArchiveError> {
        let address = Address::of(content);
        let mut run = file::from_text(content)?;
        if run.progress.state == State::Running {
            return Err(ArchiveError::InProgress);
        }
        let own_name = run.origin.name.clone();
        let outcome = Outcome::of_any_file(&mut run, name, &address)?;
        run.origin.name = own_name;
        check_lengths(&run, &outcome.entry)?;
        Ok(Self { address, run, outcome })
    }

    /// The error if an archive has the same run with other content, as `known` at `address`: the same run must not count twice.
    pub fn other_content(&self, known: &Run, address: Address) -> ArchiveError {
        other_content(&self.run, known, address)
    }
}

fn other_content(run: &Run, known: &Run, address: Address) -> ArchiveError {
    ArchiveError::OtherContent { id: run.origin.id.clone(), address, differs: difference(known, run) }
}

/// Refuses a run whose texts would fill every page and list that shows it.
fn check_lengths(run: &Run, entry: &Entry) -> Result<(), ArchiveError> {
    let check = |what, length: usize, most| match length <= most {
        true => Ok(()),
        false => Err(ArchiveError::TooLong { what, length, most }),
    };
    check("the identity", run.origin.id.len(), NAME_MAX)?;
    check("the name", entry.row.name.len(), NAME_MAX)?;
    check("the machine's name", entry.machine.len(), NAME_MAX)?;
    check("the kernel's release", entry.row.kernel.as_ref().map_or(0, String::len), NAME_MAX)?;
    check("the time of the start", entry.row.started_at.len(), NAME_MAX)?;
    let entry = serde_json::to_string(entry).expect("an entry has finite numbers only");
    check("what lists and pages show", entry.len(), ENTRY_MAX)
}

/// Keeps run files, which share one wait for the disk.
pub(crate) fn batch(
    archive: &mut Archive,
    files: &[NewFile],
) -> Result<Vec<Result<Kept, ArchiveError>>, ArchiveError> {
    let addresses = parallel::map(files, |file| Address::of(&file.content));
    let mut missing = Vec::new();
    for (address, file) in addresses.iter().zip(files) {
        let is_kept = archive.index.has(address)? && layout::stored(&archive.path, address).is_ok();
        missing.push((!is_kept).then_some(file));
    }
    let prepared = parallel::map(&missing, |file| file.map(Prepared::of));
    let mut batch = Batch::default();
    let mut outcomes = Vec::new();
    for ((address, prepared), file) in addresses.into_iter().zip(prepared).zip(files) {
        outcomes.push(match prepared {
            None => Ok(Kept::Known(address)),
            Some(prepared) => prepared.and_then(|prepared| batch.stage(archive, prepared, file)),
        });
    }
    batch.finish(archive)?;
    Ok(outcomes)
}

/// What is kept of a run, with the bytes of its file in the archive. Making them takes most of the time of keeping a run. The run
/// itself takes 14 MB and a batch has 256, so it is read again in the rare case that it is needed.
#[derive(Debug)]
struct Prepared {
    address: Address,
    id: String,
    outcome: Outcome,
    compressed: Vec<u8>,
}

impl Prepared {
    fn of(file: &NewFile) -> Result<Self, ArchiveError> {
        let Candidate { address, run, outcome } = Candidate::of(&file.name, &file.content)?;
        let mut compressed = Vec::new();
        stored::write_compressed(&file.content, &file.name, &mut compressed).expect("memory can be written");
        Ok(Self { address, id: run.origin.id, outcome, compressed })
    }
}

/// Runs that get their places together.
#[derive(Debug, Default)]
struct Batch<'a> {
    /// The directories of their files, by name.
    directories: BTreeMap<String, (Directory, Vec<Staged>)>,
    addresses: BTreeSet<Address>,
    /// The runs with an identity.
    ids: BTreeMap<String, (Address, &'a NewFile)>,
}

impl<'a> Batch<'a> {
    /// Writes a run that the archive does not have under a temporary name.
    fn stage(
        &mut self,
        archive: &mut Archive,
        prepared: Prepared,
        content: &'a NewFile,
    ) -> Result<Kept, ArchiveError> {
        let Prepared { address, id, outcome, compressed } = prepared;
        if self.addresses.contains(&address) {
            return Ok(Kept::Known(address));
        }
        if archive.index.has(&address)? {
            self.make_room(archive, &address)?;
        }
        self.check_id(archive, &id, content)?;
        let path = archive.path.join(RUNS).join(address.directory());
        let (directory, staged) = match self.directories.entry(address.directory().to_owned()) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                files::make_directories(&path).map_err(ArchiveError::io(&path))?;
                new.insert((Directory::named(&path).map_err(ArchiveError::io(&path))?, Vec::new()))
            }
        };
        let to = address.file_name();
        let file = directory
            .stage(to.as_ref(), layout::mode(&archive.path)?, |file| file.write_all(&compressed))
            .map_err(ArchiveError::io(path.join(&to)))?;
        staged.push(Staged { address: address.clone(), id: id.clone(), outcome, file });
        self.addresses.insert(address.clone());
        if !id.is_empty() {
            self.ids.insert(id, (address.clone(), content));
        }
        Ok(Kept::New(address))
    }

    /// Removes a damaged file of a run that is being added again, and forgets the run until it is there.
    fn make_room(&self, archive: &mut Archive, address: &Address) -> Result<(), ArchiveError> {
        archive.index.remove(address)?;
        let file = archive.path.join(address.path());
        match files::remove_own(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ArchiveError::io(file)(error)),
            _ => Ok(()),
        }
    }

    /// Refuses a run that the archive has with other content: the same run must not count twice.
    fn check_id(&self, archive: &Archive, id: &str, content: &NewFile) -> Result<(), ArchiveError> {
        if id.is_empty() {
            return Ok(());
        }
        let (known, address) = match self.ids.get(id) {
            Some((address, known)) => (file::from_text(&known.content)?, address.clone()),
            None => match archive.index.with_id(id)? {
                Some(address) => (archive.open(&address)?, address),
                None => return Ok(()),
            },
        };
        Err(other_content(&file::from_text(&content.content)?, &known, address))
    }

    /// Puts all files in their places.
    fn finish(self, archive: &mut Archive) -> Result<(), ArchiveError> {
        let mut runs = Vec::new();
        let mut groups = Vec::new();
        for (directory, all) in self.directories.into_values() {
            let (mut addresses, mut files) = (Vec::new(), Vec::new());
            for Staged { address, id, outcome, file } in all {
                runs.push((address.clone(), id, outcome));
                addresses.push(address);
                files.push(file);
            }
            groups.push((directory, addresses, files));
        }
        let kept = archive.index.put(&runs, false).and_then(|()| put_all(archive, &groups));
        if kept.is_err() {
            for (directory, _, files) in &groups {
                files.iter().for_each(|file| directory.discard(file));
            }
        }
        kept?;
        archive.index.note_stored(runs.iter().map(|(address, _, _)| address), true)
    }
}

/// Files of one directory.
type Group = (Directory, Vec<Address>, Vec<StagedFile>);

/// Puts all files in their places, with one wait for the disk before and one after.
fn put_all(archive: &Archive, groups: &[Group]) -> Result<(), ArchiveError> {
    let Some((first, _, _)) = groups.first() else { return Ok(()) };
    let sync = || first.sync_file_system().map_err(ArchiveError::io(&archive.path));
    sync()?;
    groups.iter().try_for_each(|group| put(archive, group))?;
    sync()
}

/// Puts the files of one directory in their places. A file that a killed process left is kept if it is whole.
fn put(archive: &Archive, (directory, addresses, files): &Group) -> Result<(), ArchiveError> {
    for (address, outcome) in addresses.iter().zip(directory.put_synced(files, Existing::Kept)) {
        match outcome {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                drop(layout::stored(&archive.path, address)?);
            }
            outcome => outcome.map_err(ArchiveError::io(archive.path.join(address.path())))?,
        }
    }
    Ok(())
}

/// What differs between two files of one run, as a clause.
fn difference(known: &Run, run: &Run) -> String {
    if known.origin.name != run.origin.name && same_but_for_names(known, run) {
        let name = |run: &Run| run.origin.name.clone().unwrap_or_else(|| "no name".to_owned());
        return format!(
            "only the name differs ({} there, {} here), and that one is kept",
            name(known),
            name(run)
        );
    }
    "the same run must not be kept twice; keep the other one in another archive".to_owned()
}

fn same_but_for_names(known: &Run, run: &Run) -> bool {
    let mut unnamed = run.clone();
    unnamed.origin.name.clone_from(&known.origin.name);
    unnamed == *known
}
