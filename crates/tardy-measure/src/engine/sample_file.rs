//! The file of single samples (docs/samples.md): CSV with a header line, so that `pandas.read_csv` opens it without options.
//!
//! Every write ends at the end of a line, so that the file contains complete lines even if this process is killed. After a
//! failed write no more is written, even if there is room again: a file that ends early is correct up to its end, a file with a
//! gap is not.
//!
//! Alternative not chosen: Parquet or a binary format. It would be a fifth of the size, but no standard tool shows it
//! while it grows, and a reader would be another dependency.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tardy_sys::files::{self, OutputFile};
use thiserror::Error;

use super::result_file::is_same_place;
use tardy_probe::sample_ring::Sample;

/// The first line.
const HEADER: &str = "phase,cpu,cycle,at_ns,latency_ns\n";
/// Lines are written together up to this size: a page, since a fatal signal can interrupt a longer write between pages.
const WRITE_BYTES: usize = 4096;
/// Upper bound of a line: five numbers of 20 digits, each with its separator.
const LINE_BYTES: usize = 5 * 21;

/// Why there is no samples file.
#[derive(Debug, Error)]
pub enum SampleFileError {
    /// A file of that name exists.
    #[error("{0} exists; use --force to overwrite it, or choose another --samples")]
    Exists(PathBuf),
    /// The path is also the run file's.
    #[error("{0} is also the run file; choose another --samples")]
    RunFile(PathBuf),
    /// The file system does not permit it or failed.
    #[error("{path} cannot be written: {source}; choose another --samples")]
    Io {
        /// The samples file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// The phase and CPU to which samples belong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    /// Index of the phase.
    pub(crate) phase: usize,
    /// The CPU.
    pub(crate) cpu: u32,
    /// Start of the run on the monotonic clock, in ns. Times in the file are relative to it.
    pub(crate) run_start_ns: u64,
}

/// The samples file of a run in progress, and counts of its contents.
#[derive(Debug)]
pub(crate) struct SampleFile {
    path: PathBuf,
    file: File,
    /// Whether the file is a new regular file, rather than a stream.
    is_new: bool,
    /// Whether the file replaced another one.
    replaced: bool,
    /// Complete lines for the next write.
    waiting: String,
    waiting_lines: u64,
    /// Bytes in the file, all of complete lines.
    written_bytes: u64,
    kept: u64,
    lost: u64,
    failed: bool,
    /// Whether a ring has been full, which is reported once.
    overrun: bool,
}

impl SampleFile {
    /// Checks that `path` may be written and is not `run_file`. Changes nothing.
    pub(crate) fn check(path: &Path, run_file: &Path, force: bool) -> Result<(), SampleFileError> {
        if is_same_place(path, run_file) {
            return Err(SampleFileError::RunFile(path.to_owned()));
        }
        if !force && path.symlink_metadata().is_ok() {
            return Err(SampleFileError::Exists(path.to_owned()));
        }
        Ok(())
    }

    /// A samples file without its header line.
    fn over(path: PathBuf, file: File, is_new: bool) -> Self {
        Self {
            path,
            file,
            is_new,
            replaced: false,
            waiting: String::with_capacity(WRITE_BYTES + LINE_BYTES),
            waiting_lines: 0,
            written_bytes: 0,
            kept: 0,
            lost: 0,
            failed: false,
            overrun: false,
        }
    }

    /// Creates the file with its header line.
    pub(crate) fn create(path: &Path, force: bool) -> Result<Self, SampleFileError> {
        let fail = |source| SampleFileError::Io { path: path.to_owned(), source };
        let replaced = path.symlink_metadata().is_ok();
        let OutputFile { file, is_new } = files::open_to_write(path, force).map_err(fail)?;
        let mut made = Self { replaced, ..Self::over(path.to_owned(), file, is_new) };
        if let Err(error) = made.begin() {
            made.discard();
            return Err(fail(error));
        }
        Ok(made)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.file.write_all(HEADER.as_bytes())?;
        self.written_bytes = HEADER.len() as u64;
        Ok(())
    }

    /// Removes the file, since nothing was measured.
    pub(crate) fn discard(&self) {
        if self.is_new && !self.replaced {
            let _ = files::remove_own(&self.path);
        }
    }

    /// Samples that are in the file.
    pub(crate) fn kept(&self) -> u64 {
        self.kept
    }

    /// Samples that were recorded and will not be in the file.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Counts samples that were lost because a ring was full.
    ///
    /// # Errors
    /// A message for the user, the first time.
    pub(crate) fn add_lost(&mut self, count: u64) -> Result<(), String> {
        self.lost += count;
        if std::mem::replace(&mut self.overrun, true) {
            return Ok(());
        }
        Err(format!(
            "samples come faster than {} can be written: {count} were lost, and are counted as lost; the measurement \
             goes on. Use a faster disk, fewer CPUs or a longer --interval",
            self.path.display()
        ))
    }

    /// Adds a line, and writes the waiting lines if they fill a page.
    ///
    /// # Errors
    /// A message for the user, the first time that a write fails. From then on samples are counted as lost.
    pub(crate) fn add(&mut self, owner: Owner, sample: Sample) -> Result<(), String> {
        if self.failed {
            self.lost += 1;
            return Ok(());
        }
        let Owner { phase, cpu, run_start_ns } = owner;
        let Sample { cycle, at_ns, late_ns } = sample;
        let at_ns = at_ns.saturating_sub(run_start_ns);
        writeln!(self.waiting, "{phase},{cpu},{cycle},{at_ns},{late_ns}").expect("a String has room");
        self.waiting_lines += 1;
        if self.waiting.len() + LINE_BYTES > WRITE_BYTES { self.write() } else { Ok(()) }
    }

    /// Writes the waiting lines.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(crate) fn write(&mut self) -> Result<(), String> {
        let text = std::mem::take(&mut self.waiting);
        let lines = std::mem::take(&mut self.waiting_lines);
        let (whole_bytes, outcome) = write_lines(&mut self.file, text.as_bytes());
        let whole_lines = match outcome {
            Ok(()) => lines,
            Err(_) => text[..whole_bytes].bytes().filter(|byte| *byte == b'\n').count() as u64,
        };
        self.written_bytes += whole_bytes as u64;
        self.kept += whole_lines;
        self.lost += lines - whole_lines;
        self.waiting = text;
        self.waiting.clear();
        outcome.map_err(|error| self.give_up(&error))
    }

    fn give_up(&mut self, error: &io::Error) -> String {
        self.failed = true;
        // A part of a line may have been written. A pipe cannot be truncated, but writes of up to a page are atomic.
        if self.is_new {
            let _ = self.file.set_len(self.written_bytes);
        }
        format!(
            "{} can no longer be written ({error}): it ends after {} samples, and later ones are counted as lost; the \
             measurement goes on",
            self.path.display(),
            self.kept
        )
    }

    /// Syncs the file to its disk.
    ///
    /// # Errors
    /// A message for the user, if written lines could not be stored.
    pub(crate) fn sync(&self) -> Result<(), String> {
        match self.file.sync_all() {
            // A pipe or a device has nothing to sync.
            Err(error) if error.kind() != io::ErrorKind::InvalidInput => Err(format!(
                "{} could not be synced to its disk ({error}); count its lines before relying on it",
                self.path.display()
            )),
            _ => Ok(()),
        }
    }
}

/// Writes `text`. Also returns how many bytes of complete lines were written.
fn write_lines(file: &mut impl Write, text: &[u8]) -> (usize, io::Result<()>) {
    let mut done = 0;
    while done < text.len() {
        let error = match file.write(&text[done..]) {
            Ok(0) => io::ErrorKind::WriteZero.into(),
            Ok(count) => {
                done += count;
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        let whole = text[..done].iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        return (whole, Err(error));
    }
    (done, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const OWNER: Owner = Owner { phase: 1, cpu: 3, run_start_ns: 1000 };

    fn sample(cycle: u64) -> Sample {
        Sample { cycle, at_ns: 1000 + cycle * 200, late_ns: -5 }
    }

    #[test]
    fn the_file_holds_complete_lines_at_every_moment() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        let mut file = SampleFile::create(&path, false).unwrap();
        for cycle in 0..1000 {
            file.add(OWNER, sample(cycle)).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.ends_with('\n'));
            assert_eq!(text.lines().count() as u64 - 1, file.kept());
        }
        file.write().unwrap();
        file.sync().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("phase,cpu,cycle,at_ns,latency_ns\n1,3,0,0,-5\n1,3,1,200,-5\n"), "{text}");
        assert_eq!((text.lines().count(), file.kept(), file.lost()), (1001, 1000, 0));
    }

    #[test]
    fn the_longest_line_fits_the_buffer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        let mut file = SampleFile::create(&path, false).unwrap();
        let owner = Owner { phase: usize::MAX, cpu: u32::MAX, run_start_ns: 0 };
        let capacity = file.waiting.capacity();
        for _ in 0..500 {
            file.add(owner, Sample { cycle: u64::MAX, at_ns: u64::MAX, late_ns: i64::MIN }).unwrap();
            assert!(file.waiting.len() <= WRITE_BYTES);
        }
        assert_eq!(file.waiting.capacity(), capacity);
    }

    #[test]
    fn a_full_disk_is_reported_once_and_later_samples_are_lost() {
        let full = files::open_to_write(Path::new("/dev/full"), false).unwrap().file;
        let mut file = SampleFile::over("/dev/full".into(), full, false);
        let mut said = Vec::new();
        for cycle in 0..1000 {
            said.extend(file.add(OWNER, sample(cycle)).err());
        }
        said.extend(file.write().err());
        assert_eq!((file.kept(), file.lost()), (0, 1000));
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("/dev/full can no longer be written (No space left"), "{}", said[0]);
    }

    #[test]
    fn an_incomplete_line_is_not_counted() {
        struct Nearly(usize);
        impl Write for Nearly {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let count = bytes.len().min(self.0).min(3);
                self.0 -= count;
                if count == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(count) }
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let text = b"1,2\n3,4\n5,6\n";
        let whole = |room| {
            let (whole, outcome) = write_lines(&mut Nearly(room), text);
            (whole, outcome.is_ok())
        };
        assert_eq!(whole(12), (12, true));
        assert_eq!(whole(11), (8, false));
        assert_eq!(whole(8), (8, false));
        assert_eq!(whole(3), (0, false));
    }

    #[test]
    fn an_existing_file_is_overwritten_only_by_force() {
        let directory = tempfile::tempdir().unwrap();
        let (path, run_file) = (directory.path().join("a.csv"), directory.path().join("a.run.json"));
        SampleFile::check(&path, &run_file, false).unwrap();
        assert!(!path.exists(), "checking touches nothing");
        fs::write(&path, "precious").unwrap();
        assert!(matches!(SampleFile::check(&path, &run_file, false), Err(SampleFileError::Exists(_))));
        assert!(SampleFile::create(&path, false).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        SampleFile::check(&path, &run_file, true).unwrap();
        SampleFile::create(&path, true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), HEADER);
    }

    #[test]
    fn the_run_file_is_recognised_under_another_name() {
        let directory = tempfile::tempdir().unwrap();
        let run_file = directory.path().join("a");
        let other_name = directory.path().join(".").join("a");
        let check = |force| SampleFile::check(&other_name, &run_file, force);
        assert!(matches!(check(true), Err(SampleFileError::RunFile(_))));
        assert!(!is_same_place(&run_file, &directory.path().join("b")));
    }
}
