//! What pages, lists and a server ask of an archive, whichever store is behind it: a directory ([`Archive`]) or the services of
//! tardy-warehouse.

use tardy_record::{Run, file};

use crate::archive::Archive;
use crate::board::{BoardRuns, Mark};
use crate::error::ArchiveError;
use crate::keep::{self, Kept, NewFile};
use crate::layout::AT_A_TIME;
use crate::query::Query;
use crate::stored::Stored;
use crate::{Address, Entry};

/// An archive that is searched and added to. The order of runs is that of [`Store::find`] everywhere: by the day and the time of their
/// start, runs without a day first, and runs of the same time by their address.
pub trait Store: Send {
    /// The runs that `query` finds, the oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn find(&self, query: &Query) -> Result<Vec<(Address, Entry)>, ArchiveError>;

    /// How many runs `query` finds.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn count(&self, query: &Query) -> Result<u64, ArchiveError>;

    /// The `limit` newest runs that `query` finds, or those that are next older than `after`, which need not meet the conditions. The
    /// newest is first: the order is that of [`Self::find`] reversed.
    ///
    /// # Errors
    /// [`ArchiveError::Unknown`] if the store does not have `after`; otherwise as for [`Self::find`].
    fn page(
        &self,
        query: &Query,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Entry)>, ArchiveError>;

    /// All boards with a run, by name.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn boards(&self) -> Result<Vec<BoardRuns>, ArchiveError>;

    /// The releases of all kernels with a run, and how many runs each has.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn kernels(&self) -> Result<Vec<(String, u64)>, ArchiveError>;

    /// The runs that were added after `mark`, in that order, and a mark after the last one. Some may have been found with an earlier
    /// mark. Without a mark all runs, and also with a mark
    /// of a store that was made again since.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn added_since(&self, mark: Option<&Mark>) -> Result<(Vec<Address>, Mark), ArchiveError>;

    /// Whether the store has a run.
    ///
    /// # Errors
    /// As for [`Self::find`].
    fn has(&self, address: &Address) -> Result<bool, ArchiveError>;

    /// A run file. Its content has been compared with its address.
    ///
    /// # Errors
    /// [`ArchiveError::Unknown`] if the store does not have it, [`ArchiveError::Damaged`] if it has another content.
    fn get(&self, address: &Address) -> Result<Stored, ArchiveError>;

    /// Opens a run.
    ///
    /// # Errors
    /// As for [`Self::get`], or if the file is not a run.
    fn open(&self, address: &Address) -> Result<Run, ArchiveError> {
        let run = file::from_text(&self.get(address)?.content);
        run.map_err(|error| ArchiveError::Damaged { path: address.path(), reason: error.to_string() })
    }

    /// Keeps run files. Runs whose outcome is `Ok` are stored durably and found when it returns. The outcomes are in the order of the
    /// files, one for each.
    ///
    /// # Errors
    /// If the store fails as a whole. Nothing is reported as kept then; what was stored is known when the same files are kept again.
    fn keep(&mut self, files: Vec<NewFile>) -> Result<Vec<Result<Kept, ArchiveError>>, ArchiveError>;

    /// Removes a run. Returns whether the store had it.
    ///
    /// # Errors
    /// If the store fails. The run is either there as before or removed by the next call.
    fn remove(&mut self, address: &Address) -> Result<bool, ArchiveError>;
}

/// An archive that was opened to be read is opened to be written for the time of each change, so that other processes can change it in
/// between.
impl Store for Archive {
    fn find(&self, query: &Query) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        Self::find(self, query)
    }

    fn count(&self, query: &Query) -> Result<u64, ArchiveError> {
        self.index.count(query)
    }

    fn page(
        &self,
        query: &Query,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Entry)>, ArchiveError> {
        self.index.page(query, after, limit)
    }

    fn boards(&self) -> Result<Vec<BoardRuns>, ArchiveError> {
        self.index.boards()
    }

    fn kernels(&self) -> Result<Vec<(String, u64)>, ArchiveError> {
        self.index.kernels()
    }

    fn added_since(&self, mark: Option<&Mark>) -> Result<(Vec<Address>, Mark), ArchiveError> {
        self.index.added_since(mark)
    }

    fn has(&self, address: &Address) -> Result<bool, ArchiveError> {
        self.index.has(address)
    }

    fn get(&self, address: &Address) -> Result<Stored, ArchiveError> {
        self.content(address)
    }

    fn keep(&mut self, files: Vec<NewFile>) -> Result<Vec<Result<Kept, ArchiveError>>, ArchiveError> {
        self.changed(|archive| {
            let mut outcomes = Vec::new();
            for files in files.chunks(AT_A_TIME) {
                outcomes.extend(keep::batch(archive, files)?);
            }
            Ok(outcomes)
        })
    }

    fn remove(&mut self, address: &Address) -> Result<bool, ArchiveError> {
        self.changed(|archive| archive.remove(address))
    }
}
