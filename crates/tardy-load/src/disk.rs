//! A file written and read: each quarter of a MiB is forced to the disk, and pages are read back from anywhere in it,
//! past the kernel's cache.
//!
//! The file has no name while the load runs, so that nothing is left of it however the load ends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tardy_sys::counters::Counter;
use tardy_sys::file_cache;

use super::crew;
use super::random::Random;
use super::words::Word;
use super::worker::{Ended, Worker};

/// Survives a restart, so it is on a disk where there is one (FHS 3.0, 5.15).
const DIRECTORY: &str = "/var/tmp";
/// Small, so that a slow card of a board has it in time.
const FILE_BYTES: u64 = 16 << 20;
/// What is forced to the disk at once.
const CHUNK_BYTES: usize = 256 << 10;
const PAGE_BYTES: usize = 4096;
/// Pages that are read back for each chunk written.
const PAGES: usize = 16;

pub(super) fn run(worker: &Worker, directory: &str) -> Ended {
    let directory = Path::new(if directory.is_empty() { DIRECTORY } else { directory });
    let file = unnamed_file(directory)?;
    if file_cache::is_in_memory(&file).unwrap_or(false) {
        worker.say(&Word::Remark(format!("no disk: {} is in memory", directory.display())));
    }
    crew::run(worker, 1, |_| Ok(write_and_read(&file, worker.seed)))
}

fn unnamed_file(directory: &Path) -> Result<File, String> {
    let path = directory.join(format!(".tardy-io.{}", std::process::id()));
    let told = |error: io::Error| {
        format!("no file can be made in {}: {error}; name a directory: io:DIRECTORY", directory.display())
    };
    let file = File::options().read(true).write(true).create_new(true).open(&path).map_err(told)?;
    std::fs::remove_file(&path).map_err(told)?;
    Ok(file)
}

/// A step writes the next chunk, waits until the disk has it, and reads some pages of what has been written.
fn write_and_read(file: &File, seed: u64) -> impl FnMut(&Counter) -> Result<(), String> + '_ {
    let mut random = Random::new(seed);
    let chunk: Vec<u8> = (0..CHUNK_BYTES / 8).flat_map(|_| random.next().to_le_bytes()).collect();
    let (mut at, mut written, mut page) = (0, 0, [0; PAGE_BYTES]);
    move |moved| {
        let told = |error: io::Error| format!("the file cannot be written: {error}");
        file.write_all_at(&chunk, at).map_err(told)?;
        file.sync_data().map_err(told)?;
        moved.add(CHUNK_BYTES as u64);
        at = (at + CHUNK_BYTES as u64) % FILE_BYTES;
        written = FILE_BYTES.min(written + CHUNK_BYTES as u64);
        // A file system without a cache has nothing to forget.
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
    fn bytes_written_and_read_are_counted_and_no_name_is_left() {
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
    fn a_directory_that_takes_no_file_is_named() {
        let told = unnamed_file(Path::new("/proc/self")).unwrap_err();
        assert!(told.contains("/proc/self") && told.contains("io:DIRECTORY"), "{told}");
    }
}
