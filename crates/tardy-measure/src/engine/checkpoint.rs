//! The run file of a run in progress: the disk holds a complete, valid run at every moment.
//!
//! The supervisor holds a lock on the file while it runs (`tardy_sys::files::hold`), so that every user who can read the file
//! can find out whether the run is still in progress.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tardy_record::{Run, file};
use tardy_redact::redact;
use tardy_sys::files::{self, Directory, Existing};
use tardy_sys::shared_map::SharedMap;

use super::counters_file::CountersFile;
use super::result_file::{ResultFile, ResultFileError};

/// The directory of a run whose own file cannot be written.
const RESCUE_DIRECTORY: &str = "/dev/shm";
/// When the first checkpoint is written, in ns.
const FIRST_NS: u64 = 1_000_000_000;
/// From the first checkpoint to the second, in ns; the interval doubles from one to the next.
const FIRST_INTERVAL_NS: u64 = 5_000_000_000;
/// The longest interval, in ns. In between, the counters are written (`counters_file`).
const LONGEST_INTERVAL_NS: u64 = 60_000_000_000;
/// Without a map there are no counters to write, so checkpoints stay as frequent, unless they take so long that this share of
/// the time would be spent on them.
const SHARE_MAX: u64 = 50;

/// A run file that is rewritten at each checkpoint.
#[derive(Debug)]
pub struct RunFile {
    file: ResultFile,
    /// The last checkpoint, locked.
    held: Option<File>,
    /// The checkpoint before, which has no name any more.
    replaced: Option<File>,
    counters: CountersFile,
    redacts: bool,
    interval_ns: u64,
    due_ns: u64,
}

impl RunFile {
    /// The run file at a claimed path; redacted if `redacts` is set.
    pub fn at(file: ResultFile, redacts: bool) -> Self {
        let counters = CountersFile::next_to(file.path());
        let (interval_ns, due_ns) = (FIRST_INTERVAL_NS, FIRST_NS);
        Self { file, held: None, replaced: None, counters, redacts, interval_ns, due_ns }
    }

    /// Whether the next checkpoint is due, `now_ns` after the start of the run. `has_counters`: the phase counts in a map, so
    /// that writing its counters is enough in between. `last_took_ns` is the cost of the last checkpoint.
    pub fn is_due(&mut self, now_ns: u64, has_counters: bool, last_took_ns: u64) -> bool {
        if now_ns < self.due_ns {
            return false;
        }
        let frequent_ns = FIRST_INTERVAL_NS.max(last_took_ns.saturating_mul(SHARE_MAX));
        let interval_ns = if has_counters { self.interval_ns } else { frequent_ns.min(LONGEST_INTERVAL_NS) };
        self.due_ns = now_ns + interval_ns;
        self.interval_ns = (self.interval_ns * 2).min(LONGEST_INTERVAL_NS);
        true
    }

    /// Writes the counters of `phase`, if that is due. `None` if it is not.
    ///
    /// # Errors
    /// As for [`Self::write`].
    pub(super) fn write_counters(
        &mut self,
        now_ns: u64,
        phase: usize,
        map: &SharedMap,
    ) -> Option<io::Result<()>> {
        let is_due = self.counters.is_due(now_ns);
        is_due.then(|| self.counters.write(self.file.directory(), now_ns, phase, map))
    }

    /// Removes the copy of the counters, because a checkpoint was written at `now_ns`.
    pub(super) fn remove_counters(&mut self, now_ns: u64) {
        self.counters.remove(self.file.directory(), now_ns);
    }

    /// The path that was claimed.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Replaces the run file by `run`. The previous content stays if this fails.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, run: &Run) -> Result<(), ResultFileError> {
        let text = self.text(run);
        let written = self.file.put(|file| {
            let text = text?;
            // Some kernels and file systems have no such locks. Then the map alone shows that the run is in progress.
            let _ = files::hold(file);
            file.write_all(text.as_bytes())
        })?;
        self.replaced = self.held.replace(written);
        Ok(())
    }

    /// What was replaced since the last call. Closing it frees its memory, during which a kernel that is not preemptible does not
    /// switch: 52,000 instructions for 31 pages (docs/performance.md).
    pub(super) fn take_replaced(&mut self) -> [Option<File>; 2] {
        [self.replaced.take(), self.counters.take_replaced()]
    }

    /// Writes `run`, which is complete, to /dev/shm, because its file could not be written. Returns a message for the user.
    pub fn rescue(&self, run: &Run, error: &ResultFileError) -> String {
        let name = format!("tardy-{}.run.json", run.origin.id);
        let place = Path::new(RESCUE_DIRECTORY).join(&name);
        let rescued = self.text(run).and_then(|text| {
            let directory = Directory::named(Path::new(RESCUE_DIRECTORY))?;
            directory.replace(name.as_ref(), 0o600, Existing::Kept, |file| file.write_all(text.as_bytes()))
        });
        match rescued {
            Ok(_) => format!(
                "{error}. The whole run is in {} instead; move it before the next boot",
                place.display()
            ),
            Err(second) => {
                format!(
                    "{error}; {} could not be written either ({second}). The run is not saved, only shown here",
                    place.display()
                )
            }
        }
    }

    /// The text of the run file of `run`.
    pub(crate) fn text(&self, run: &Run) -> io::Result<String> {
        match self.redacts {
            true => Ok(file::to_text(&redact(run).map_err(io::Error::other)?.run)),
            false => Ok(file::to_text(run)),
        }
    }

    /// Removes the run file.
    pub(crate) fn remove(&self) {
        self.file.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn checkpoints_back_off_to_once_a_minute() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = RunFile::at(ResultFile::claim(&directory.path().join("a"), false).unwrap(), false);
        let due: Vec<u64> = (0..300).filter(|second| file.is_due(second * SECOND, true, 0)).collect();
        assert_eq!(due, [1, 6, 16, 36, 76, 136, 196, 256]);
    }

    #[test]
    fn without_counters_checkpoints_stay_frequent_as_long_as_they_are_cheap() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = RunFile::at(ResultFile::claim(&directory.path().join("a"), false).unwrap(), false);
        let due: Vec<u64> =
            (0..20).filter(|second| file.is_due(second * SECOND, false, SECOND / 100)).collect();
        assert_eq!(due, [1, 6, 11, 16]);
        assert!(file.is_due(21 * SECOND, false, SECOND / 5));
        assert!(!file.is_due(30 * SECOND, false, SECOND / 5) && file.is_due(31 * SECOND, false, SECOND / 5));
    }
}
