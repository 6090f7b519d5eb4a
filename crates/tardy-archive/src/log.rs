//! Logs of an archive: files to which lines of JSON are only added, such as who pushed or deleted what.
//!
//! A line is on the disk before the function that adds it returns. A line that a killed process or a full disk cut off was never
//! reported as added, and is removed by the next process that adds.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tardy_sys::files::{self, Directory};

use crate::error::ArchiveError;

/// The directory in an archive for what is not made from its runs: tokens, alerts, the audit log.
pub const RECORDS: &str = "server";
/// Only the owner reads who did what.
const MODE: u32 = 0o600;

/// A log that is open.
#[derive(Debug)]
pub struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    /// Opens the log `name` of the archive at `archive` to add to it, and makes it if it does not exist. Returns its lines too.
    ///
    /// # Errors
    /// If the file system does not permit it, or a line is not of this kind.
    pub fn open<L: DeserializeOwned>(archive: &Path, name: &str) -> Result<(Self, Vec<L>), ArchiveError> {
        let place = archive.join(RECORDS);
        let path = place.join(name);
        files::make_directories(&place).map_err(ArchiveError::io(&place))?;
        let directory = Directory::named(&place).map_err(ArchiveError::io(&place))?;
        let mut file = directory.own_file(name.as_ref(), MODE).map_err(ArchiveError::io(&path))?;
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(ArchiveError::io(&path))?;
        let (lines, whole) = parsed(&content, &path)?;
        file.set_len(whole as u64).map_err(ArchiveError::io(&path))?;
        file.seek(SeekFrom::End(0)).map_err(ArchiveError::io(&path))?;
        Ok((Self { file, path }, lines))
    }

    /// The lines of a log; none if it does not exist. Nothing is written.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn read<L: DeserializeOwned>(archive: &Path, name: &str) -> Result<Vec<L>, ArchiveError> {
        let path = archive.join(RECORDS).join(name);
        match std::fs::read(&path) {
            Ok(content) => Ok(parsed(&content, &path)?.0),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(ArchiveError::io(path)(error)),
        }
    }

    /// Adds lines, and returns when they are on the disk.
    ///
    /// # Errors
    /// If the file system fails. None of the lines is in the log then.
    pub fn add<L: Serialize>(&mut self, lines: &[L]) -> Result<(), ArchiveError> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut text = String::new();
        for line in lines {
            text += &serde_json::to_string(line).expect("a line of a log has finite numbers and names only");
            text.push('\n');
        }
        let before = self.file.stream_position().map_err(ArchiveError::io(&self.path))?;
        let added = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = added {
            // Half a line must not be followed by another one.
            let _ = self.file.set_len(before);
            let _ = self.file.seek(SeekFrom::Start(before));
            return Err(ArchiveError::io(&self.path)(error));
        }
        Ok(())
    }
}

/// The whole lines of a log, and how many bytes they have.
fn parsed<L: DeserializeOwned>(content: &[u8], path: &Path) -> Result<(Vec<L>, usize), ArchiveError> {
    let whole = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(content[..whole].split(|byte| *byte == b'\n')) {
        if line.is_empty() {
            continue;
        }
        lines.push(serde_json::from_slice(line).map_err(|error| ArchiveError::Damaged {
            path: path.to_owned(),
            reason: format!("line {number}: {error}"),
        })?);
    }
    Ok((lines, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_and_half_a_line_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path();
        assert_eq!(Log::read::<u32>(archive, "numbers.jsonl").unwrap(), []);
        let (mut log, lines) = Log::open::<u32>(archive, "numbers.jsonl").unwrap();
        assert_eq!(lines, []);
        log.add(&[1, 2]).unwrap();
        log.add(&[3]).unwrap();
        let path = archive.join(RECORDS).join("numbers.jsonl");
        let mut content = std::fs::read(&path).unwrap();
        content.extend(b"45");
        std::fs::write(&path, content).unwrap();
        assert_eq!(Log::read::<u32>(archive, "numbers.jsonl").unwrap(), [1, 2, 3]);
        let (mut log, lines) = Log::open::<u32>(archive, "numbers.jsonl").unwrap();
        assert_eq!(lines, [1, 2, 3]);
        log.add(&[6]).unwrap();
        assert_eq!(Log::read::<u32>(archive, "numbers.jsonl").unwrap(), [1, 2, 3, 6]);
    }

    #[test]
    fn a_line_of_another_kind_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let (mut log, _) = Log::open::<String>(directory.path(), "log.jsonl").unwrap();
        log.add(&["one"]).unwrap();
        let error = Log::open::<u32>(directory.path(), "log.jsonl").unwrap_err().to_string();
        assert!(error.contains("log.jsonl: line 1"), "{error}");
    }
}
