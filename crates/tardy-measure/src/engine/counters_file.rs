//! The counters of the phase in progress, copied from memory to a hidden file next to the run file between two checkpoints.
//!
//! A checkpoint writes the whole run, which becomes large, so checkpoints become rare: finally one per minute. The counters of
//! a CPU are 72 KB however long the run lasts, so they are written every few seconds: after a power cut at most that is lost.
//! The file is a map without rings, which recovery reads like the one in memory. A newer checkpoint makes it obsolete.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tardy_sys::files::{Directory, Existing};
use tardy_sys::shared_map::SharedMap;

/// Copies are written this often, in ns; with the second until the next tick, at most 5 s are lost.
const INTERVAL_NS: u64 = 4_000_000_000;

/// The path of the counters of one phase of the run in file `run`.
pub(crate) fn counters_of_phase(run: &Path, phase: usize) -> PathBuf {
    run.with_file_name(name_of_phase(run, phase))
}

fn name_of_phase(run: &Path, phase: usize) -> OsString {
    let mut name = OsString::from(".");
    name.push(run.file_name().unwrap_or_default());
    name.push(format!(".{phase}.counters"));
    name
}

/// The counters' file of a run.
#[derive(Debug)]
pub(super) struct CountersFile {
    run: PathBuf,
    /// The last copy's name and the copy, open.
    written: Option<(OsString, File)>,
    /// A copy that has no name any more.
    replaced: Option<File>,
    due_ns: u64,
}

impl CountersFile {
    /// The file next to the run file `run`. Nothing is written yet.
    pub(super) fn next_to(run: &Path) -> Self {
        Self { run: run.to_owned(), written: None, replaced: None, due_ns: INTERVAL_NS }
    }

    /// Whether a copy is due, `now_ns` after the start of the run.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Writes the counters of `phase` into `directory`, the run file's.
    ///
    /// # Errors
    /// If the file system does not permit it or failed. The previous copy stays.
    pub(super) fn write(
        &mut self,
        directory: &Directory,
        now_ns: u64,
        phase: usize,
        map: &SharedMap,
    ) -> io::Result<()> {
        self.due_ns = now_ns + INTERVAL_NS;
        let name = name_of_phase(&self.run, phase);
        let counters = map.counters();
        let file = directory.replace(&name, 0o600, Existing::Replaced, |file| file.write_all(&counters))?;
        self.replaced = self.written.replace((name, file)).map(|(_, file)| file);
        Ok(())
    }

    /// Removes the copy, because a checkpoint was written at `now_ns`.
    pub(super) fn remove(&mut self, directory: &Directory, now_ns: u64) {
        self.due_ns = now_ns + INTERVAL_NS;
        if let Some((name, file)) = self.written.take() {
            let _ = directory.remove(&name);
            self.replaced = Some(file);
        }
    }

    /// The copy that has no name any more, if there is one.
    pub(super) fn take_replaced(&mut self) -> Option<File> {
        self.replaced.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_a_map_with_the_same_counters_and_a_checkpoint_removes_it() {
        let directory = tempfile::tempdir().unwrap();
        let (run, map) = (directory.path().join("a.run.json"), directory.path().join("map"));
        let map = SharedMap::create_with_rings(&map, 2, 5, 8).unwrap();
        map.header(3).set(77);
        map.block(1).cells()[4].set(42);
        let mut file = CountersFile::next_to(&run);
        let place = Directory::named(directory.path()).unwrap();
        assert!(!file.is_due(INTERVAL_NS - 1) && file.is_due(INTERVAL_NS));
        file.write(&place, INTERVAL_NS, 1, &map).unwrap();
        assert!(!file.is_due(INTERVAL_NS));
        let copy = SharedMap::read(&counters_of_phase(&run, 1), tardy_sys::files::caller(), 2, 5).unwrap();
        assert_eq!((copy.block_count(), copy.cell_count(), copy.header(3).get()), (2, 5, 77));
        assert_eq!(copy.block(1).cells()[4].get(), 42);
        file.remove(&place, 2 * INTERVAL_NS);
        assert!(!counters_of_phase(&run, 1).exists() && !file.is_due(2 * INTERVAL_NS));
    }
}
