//! Reads files of the kernel and the distribution: /proc, /sys, /etc, /boot, /lib/modules.
//!
//! They are read under a root, `/` or a directory that replaces it, so that code which depends on them can be tested on
//! other machines. An absent file is an error, never a zero.
//!
//! Alternative not taken: the `procfs` crate, which supports only another root of /proc, allocates for every field, and
//! fails for the whole file if an old kernel lacks a field.

use std::cmp::Ordering;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

/// Longer files are truncated, in bytes: no kernel file that tardy reads is nearly as long, but a hostile one may be.
const SIZE_LIMIT: usize = 16 << 20;
/// The size of each read, in bytes: more than files of a line or two have.
const READ_SIZE: usize = 8192;
/// The initial size of a buffer, in bytes. Watching keeps a buffer for each file, and most of these hold a line or two; a longer
/// file enlarges its buffer at the first reading.
const FIRST_ROOM: usize = 256;

/// Why a kernel file could not be read.
#[derive(Debug, Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct KernelFileError {
    /// `read`, `write`, `open`, `list`, `parse`, `create` or `remove`.
    pub action: &'static str,
    /// The file, under its root.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl KernelFileError {
    /// Whether the file does not exist, as opposed to not being readable.
    pub fn is_absent(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }

    /// Whether this user lacks the permission.
    pub fn is_refused(&self) -> bool {
        self.source.kind() == io::ErrorKind::PermissionDenied
    }

    /// The error without the path, in a few words: `absent`, `not permitted`, or the system's message.
    pub fn reason(&self) -> String {
        match self.source.kind() {
            io::ErrorKind::NotFound => "absent".to_owned(),
            io::ErrorKind::PermissionDenied => "not permitted to this user".to_owned(),
            _ => self.source.to_string(),
        }
    }
}

/// Reads and writes kernel files under one root.
#[derive(Clone, Debug)]
pub struct KernelFiles {
    root: PathBuf,
}

impl KernelFiles {
    /// The files of this machine.
    pub fn real() -> Self {
        Self { root: PathBuf::from("/") }
    }

    /// The files under a directory that replaces `/`.
    pub fn under(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Whether these are the files of this machine, so that system calls refer to the same kernel.
    pub fn is_real(&self) -> bool {
        self.root == Path::new("/")
    }

    /// The path of `path` (absolute, as on a real machine) under the root.
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Whether the file or directory exists.
    pub fn exists(&self, path: &str) -> bool {
        self.resolve(path).exists()
    }

    /// The file's bytes, at most 16 MiB.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, KernelFileError> {
        let full = self.resolve(path);
        let read = File::open(&full).and_then(|file| read_in_large_pieces(file.take(SIZE_LIMIT as u64)));
        read.map_err(|source| failed("read", &full, source))
    }

    /// Calls `take` with each line of the file, without its end, until it breaks: for a file that the kernel makes while it is read, and
    /// of which a part may be enough.
    ///
    /// # Errors
    /// If the file is absent or the kernel refuses to read it.
    pub fn each_line(
        &self,
        path: &str,
        mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), KernelFileError> {
        let full = self.resolve(path);
        let mut read = || {
            let mut reader = BufReader::new(File::open(&full)?);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line)? > 0 {
                if take(line.strip_suffix(b"\n").unwrap_or(&line)).is_break() {
                    break;
                }
                line.clear();
            }
            Ok(())
        };
        read().map_err(|source| failed("read", &full, source))
    }

    /// The file's text without white space and NULs at its end (device tree strings end in NUL); bytes that are not
    /// UTF-8 are replaced.
    pub fn text(&self, path: &str) -> Result<String, KernelFileError> {
        let content = self.bytes(path)?;
        let text = String::from_utf8_lossy(&content);
        Ok(text.trim_end_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
    }

    /// The number in a file.
    pub fn number<T: FromStr>(&self, path: &str) -> Result<T, KernelFileError> {
        let text = self.text(path)?;
        text.trim().parse().map_err(|_| {
            let problem = format!("'{}' is not a valid number", shortened(&text));
            failed("parse", &self.resolve(path), io::Error::new(io::ErrorKind::InvalidData, problem))
        })
    }

    /// The names in a directory, with numbers in numerical order (`cpu2` before `cpu10`).
    pub fn names(&self, directory: &str) -> Result<Vec<String>, KernelFileError> {
        let full = self.resolve(directory);
        let list = || {
            fs::read_dir(&full)?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect::<io::Result<Vec<_>>>()
        };
        let mut names = list().map_err(|source| failed("list", &full, source))?;
        names.sort_by(|a, b| numerically(a, b));
        Ok(names)
    }

    /// Opens a file that is read repeatedly.
    pub fn open(&self, path: &str) -> Result<PolledFile, KernelFileError> {
        let full = self.resolve(path);
        match File::open(&full) {
            Ok(file) => Ok(PolledFile { file, path: full }),
            Err(source) => Err(failed("open", &full, source)),
        }
    }
}

/// A kernel file that stays open and is read from its start each time.
#[derive(Debug)]
pub struct PolledFile {
    file: File,
    path: PathBuf,
}

impl PolledFile {
    /// The current content of the file, in a buffer that can be reused for other files and times.
    ///
    /// # Errors
    /// If the kernel refuses to read it.
    pub fn read<'buffer>(&self, buffer: &'buffer mut Vec<u8>) -> Result<&'buffer [u8], KernelFileError> {
        self.read_in_pieces(buffer, SIZE_LIMIT, |call| call())
    }

    /// The same by system calls that read `piece` bytes at most. `around` runs each call.
    ///
    /// # Errors
    /// If the kernel refuses to read it.
    pub fn read_in_pieces<'buffer>(
        &self,
        buffer: &'buffer mut Vec<u8>,
        piece: usize,
        mut around: impl FnMut(&mut dyn FnMut() -> io::Result<usize>) -> io::Result<usize>,
    ) -> Result<&'buffer [u8], KernelFileError> {
        if buffer.len() < FIRST_ROOM {
            buffer.resize(FIRST_ROOM, 0);
        }
        let mut length = 0usize;
        loop {
            let end = buffer.len().min(length.saturating_add(piece));
            let into = &mut buffer[length..end];
            match around(&mut || self.file.read_at(into, length as u64)) {
                Ok(0) => return Ok(&buffer[..length]),
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(failed("read", &self.path, source)),
            }
            if length == buffer.len() {
                if length >= SIZE_LIMIT {
                    return Ok(&buffer[..length]);
                }
                buffer.resize(length * 2, 0);
            }
        }
    }
}

/// The whole content. Not by read_to_end, whose last reads are as small as the room that is left: some files refuse a buffer that is not
/// larger than their content, even at their end (osnoise/cpus, kernel/trace/trace_osnoise.c).
fn read_in_large_pieces(mut file: impl Read) -> io::Result<Vec<u8>> {
    let (mut content, mut buffer) = (Vec::new(), vec![0; READ_SIZE]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(content),
            Ok(count) => content.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> KernelFileError {
    KernelFileError { action, path: path.to_owned(), source }
}

/// The first few characters of a text, for messages.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Compares names piece by piece, texts as texts and numbers as numbers.
fn numerically(a: &str, b: &str) -> Ordering {
    pieces(a).cmp(pieces(b)).then_with(|| a.cmp(b))
}

/// A name as (text, number) pairs; a number too long for 64 bits counts as the largest.
fn pieces(name: &str) -> impl Iterator<Item = (&str, u64)> {
    let mut rest = name;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, after) = rest.split_at(digits);
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(end);
        rest = after;
        Some((text, if number.is_empty() { 0 } else { number.parse().unwrap_or(u64::MAX) }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(files: &[(&str, &[u8])]) -> (tempfile::TempDir, KernelFiles) {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let full = root.path().join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, content).unwrap();
        }
        let files = KernelFiles::under(root.path());
        (root, files)
    }

    #[test]
    fn an_absent_file_is_an_error_with_its_path() {
        let (_root, files) = fake(&[]);
        let error = files.number::<i64>("/proc/sys/kernel/sched_rt_runtime_us").unwrap_err();
        assert!(error.is_absent());
        assert_eq!(error.reason(), "absent");
        assert!(error.to_string().contains("proc/sys/kernel/sched_rt_runtime_us"), "{error}");
    }

    #[test]
    fn an_invalid_number_is_quoted_in_the_error() {
        let (_root, files) = fake(&[("proc/n", b"soon\n"), ("proc/bytes", &[0xff, b'a', 0, b'\n'])]);
        assert!(files.number::<u32>("/proc/n").unwrap_err().to_string().contains("'soon'"));
        assert_eq!(files.text("/proc/bytes").unwrap(), "\u{fffd}a");
    }

    #[test]
    fn a_file_that_refuses_small_buffers_is_read() {
        /// As osnoise/cpus: the size is checked before the position.
        struct Refusing(&'static [u8], usize);
        impl Read for Refusing {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                if self.1 >= into.len() { Err(io::ErrorKind::InvalidInput.into()) } else { self.0.read(into) }
            }
        }
        let content = b"0-3\n";
        assert_eq!(read_in_large_pieces(Refusing(content, content.len())).unwrap(), content);
    }

    #[test]
    fn names_are_in_numerical_order() {
        let (_root, files) =
            fake(&[("d/cpu10", b""), ("d/cpu2", b""), ("d/cpu", b""), ("d/cpu99999999999999999999", b"")]);
        assert_eq!(files.names("/d").unwrap(), ["cpu", "cpu2", "cpu10", "cpu99999999999999999999"]);
    }

    #[test]
    fn a_polled_file_is_read_whole_each_time() {
        let (root, files) = fake(&[("proc/stat", b"one")]);
        let polled = files.open("/proc/stat").unwrap();
        let mut buffer = Vec::new();
        assert_eq!(polled.read(&mut buffer).unwrap(), b"one");
        let long = vec![b'x'; 3 * FIRST_ROOM];
        fs::write(root.path().join("proc/stat"), &long).unwrap();
        assert_eq!(polled.read(&mut buffer).unwrap(), &long[..]);
        fs::write(root.path().join("proc/stat"), b"2").unwrap();
        assert_eq!(polled.read(&mut buffer).unwrap(), b"2");
    }

    #[test]
    fn the_real_root_is_this_machine() {
        assert!(KernelFiles::real().is_real());
        assert!(!KernelFiles::real().text("/proc/version").unwrap().is_empty());
    }
}
