//! Writes a file, syncs it every 256 KiB, and reads pages back from random positions, bypassing the kernel's cache.
//!
//! The file has no name while the load runs, so nothing is left however the load ends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tardy_sys::counters::Counter;
use tardy_sys::file_cache;
use tardy_sys::files::Directory;

use super::forked_tasks;
use super::messages::Message;
use super::random::Random;
use super::worker::{Ended, Worker};

/// The default directory. It persists across reboots, so it is on a disk if the machine has one (FHS 3.0, 5.15).
const DIRECTORY: &str = "/var/tmp";
/// The size of the file, small enough for the slow SD card of a board.
const FILE_BYTES: u64 = 16 << 20;
/// The bytes that are written and forced to the disk at once.
const CHUNK_BYTES: usize = 256 << 10;
const PAGE_BYTES: usize = 4096;
/// Pages read back per chunk written.
const PAGES: usize = 16;

pub(super) fn run(worker: &Worker, directory: &str) -> Ended {
    let directory = Path::new(if directory.is_empty() { DIRECTORY } else { directory });
    let file = unnamed_file(directory)?;
    if file_cache::is_in_memory(&file).unwrap_or(false) {
        worker.send(&Message::Remark(format!("{} is in memory, not on a disk", directory.display())));
    }
    forked_tasks::run(worker, 1, |_| Ok(write_and_read(&file, worker.seed)))
}

fn unnamed_file(directory: &Path) -> Result<File, String> {
    let failed = |error: io::Error| {
        format!(
            "no file can be created in {}: {error}; choose another directory with io:DIRECTORY",
            directory.display()
        )
    };
    Directory::named(directory).and_then(|directory| directory.unnamed_file()).map_err(failed)
}

/// A step writes the next chunk, waits until it is on the disk, and reads some of the written pages.
fn write_and_read(file: &File, seed: u64) -> impl FnMut(&Counter) -> Result<(), String> + '_ {
    let mut random = Random::new(seed);
    let chunk: Vec<u8> = (0..CHUNK_BYTES / 8).flat_map(|_| random.next().to_le_bytes()).collect();
    let (mut at, mut written, mut page) = (0, 0, [0; PAGE_BYTES]);
    move |moved| {
        let failed = |error: io::Error| format!("the file cannot be written: {error}");
        file.write_all_at(&chunk, at).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        moved.add(CHUNK_BYTES as u64);
        at = (at + CHUNK_BYTES as u64) % FILE_BYTES;
        written = FILE_BYTES.min(written + CHUNK_BYTES as u64);
        // A file system without a cache has nothing to drop.
        let _ = file_cache::forget(file);
        for _ in 0..PAGES {
            let place = random.below(written as usize / PAGE_BYTES) * PAGE_BYTES;
            file.read_exact_at(&mut page, place as u64)
                .map_err(|error| format!("the file cannot be read: {error}"))?;
            moved.add(PAGE_BYTES as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_and_no_file_name_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let file = unnamed_file(directory.path()).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let counter = Counter::default();
        let mut step = write_and_read(&file, 1);
        for _ in 0..3 {
            step(&counter).unwrap();
        }
        assert_eq!(counter.get(), 3 * (262_144 + 16 * 4096));
        assert_eq!(file.metadata().unwrap().len(), 3 * 262_144);
    }

    #[test]
    fn a_directory_that_refuses_files_is_named() {
        let failed = unnamed_file(Path::new("/proc/self")).unwrap_err();
        assert!(failed.contains("/proc/self") && failed.contains("io:DIRECTORY"), "{failed}");
    }
}
