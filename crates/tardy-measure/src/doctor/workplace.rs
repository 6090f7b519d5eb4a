//! The directory of the trials. One doctor at a time uses it; files of a killed doctor are removed first.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::recovery;
use tardy_host::journal::Place;
use tardy_sys::files::{self, Directory};

/// The name of the lock's file.
const LOCK: &str = "trials.lock";

/// A lock that one doctor holds, and a directory for its runs. The kernel releases the lock when the process ends.
#[derive(Debug)]
pub(super) struct Workplace {
    _lock: File,
    directory: PathBuf,
    keep: bool,
}

impl Workplace {
    /// Locks and creates the directory, next to the journal of `place`. Runs are kept in `keep`, if given.
    pub(super) fn take(place: &Place, keep: Option<&Path>) -> Result<Self, String> {
        let beside = place.directory().parent().unwrap_or(Path::new("/")).to_owned();
        let fail = |what: &Path| {
            let what = what.display().to_string();
            move |error: std::io::Error| format!("{what} cannot be used: {error}")
        };
        let parent = Directory::own_or_new(&beside).map_err(fail(&beside))?;
        let path = beside.join(LOCK);
        let lock = parent.own_file(LOCK.as_ref(), 0o600).map_err(fail(&path))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => format!(
                "another 'tardy check --measure' is running ({} is locked); two would measure each other's changes",
                path.display()
            ),
            TryLockError::Error(error) => fail(&path)(error),
        })?;
        let own = directory_of(place);
        clear(&own);
        let directory = match keep {
            None => own,
            Some(directory) => directory.to_owned(),
        };
        match keep {
            None => Directory::own_or_new(&directory).map(drop),
            Some(_) => files::make_directories(&directory),
        }
        .map_err(fail(&directory))?;
        Ok(Self { _lock: lock, directory, keep: keep.is_some() })
    }

    /// Path of a trial's run file.
    pub(super) fn run_file(&self, round: u32, name: &str) -> PathBuf {
        self.directory.join(format!("round-{round:03}-{name}.run.json"))
    }

    /// Removes the file of a trial that is over, unless runs are kept.
    pub(super) fn done_with(&self, file: &Path) {
        if !self.keep {
            let _ = files::remove_own(file);
        }
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if !self.keep {
            clear(&self.directory);
        }
    }
}

/// The directory for runs that are not kept.
fn directory_of(place: &Place) -> PathBuf {
    place.directory().parent().unwrap_or(Path::new("/")).join("trials")
}

/// Removes the runs of a killed doctor and their shared maps, unless a doctor is running. Returns whether there were any.
pub fn discard_leftovers(place: &Place) -> bool {
    let directory = directory_of(place);
    if !directory.exists() {
        return false;
    }
    // Taking the workplace clears it, and so does leaving it.
    Workplace::take(place, None).is_ok()
}

/// Removes the runs of a killed doctor and their shared maps.
fn clear(directory: &Path) {
    let Ok(names) = Directory::own(directory).and_then(|directory| directory.names()) else { return };
    names.iter().for_each(|name| recovery::discard(&directory.join(name)));
    let _ = fs::remove_dir_all(directory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_doctor_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::at(&root.path().join("tardy/journal"));
        let first = Workplace::take(&place, None).unwrap();
        let refused = Workplace::take(&place, None).unwrap_err();
        assert!(refused.contains("another 'tardy check --measure'"), "{refused}");
        fs::write(first.run_file(1, "baseline"), "{}").unwrap();
        let directory = first.directory.clone();
        drop(first);
        assert!(!directory.exists());
        // A killed doctor leaves a directory and no lock.
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("round-001-baseline.run.json"), "{\"schema_version\": 1}").unwrap();
        let second = Workplace::take(&place, None).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        drop(second);
    }

    #[test]
    fn kept_runs_are_not_removed() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::at(&root.path().join("tardy/journal"));
        let kept = root.path().join("kept");
        let workplace = Workplace::take(&place, Some(&kept)).unwrap();
        let file = workplace.run_file(2, "governor");
        fs::write(&file, "{}").unwrap();
        workplace.done_with(&file);
        drop(workplace);
        assert!(kept.join("round-002-governor.run.json").exists());
    }
}
