//! Logs of an archive: files to which lines of JSON are only added, such as who pushed or deleted what.
//!
//! A line is on the disk before the function that adds it returns. A line that a killed process or a full disk cut off was never
//! reported as added, and is removed by the next process that adds.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tardy_sys::files::{self, Directory};

use crate::error::ArchiveError;

/// The directory in an archive for what is not made from its runs: tokens, alerts, the audit log.
pub const RECORDS: &str = "server";
/// Only the owner reads who did what.
const MODE: u32 = 0o600;

/// A log. Several processes may add to it.
#[derive(Debug)]
pub struct Log {
    /// `None`: nothing may be added.
    directory: Option<Directory>,
    name: String,
}

/// Opens the directory for the records of the archive at `archive`, which only its owner can use, and makes it if it does not exist.
///
/// # Errors
/// If the file system does not permit it.
pub fn records_directory(archive: &Path) -> Result<Directory, ArchiveError> {
    let place = archive.join(RECORDS);
    let opened = files::make_private_directory(&place).and_then(|()| Directory::named(&place));
    let directory = opened.map_err(ArchiveError::io(&place))?;
    // It has tokens, and who did what.
    directory.make_private().map_err(ArchiveError::io(&place))?;
    Ok(directory)
}

impl Log {
    /// Opens the log `name` of the archive at `archive` to add to it, and makes its directory if it does not exist. Returns its lines
    /// too.
    ///
    /// # Errors
    /// If the file system does not permit it, or a line is not of this kind.
    pub fn open<L: DeserializeOwned>(archive: &Path, name: &str) -> Result<(Self, Vec<L>), ArchiveError> {
        let directory = Some(records_directory(archive)?);
        Ok((Self { directory, name: name.to_owned() }, Self::read(archive, name)?))
    }

    /// Opens the log `name` of an archive that may only be read: adding to it fails. A log that may not be read has no lines.
    ///
    /// # Errors
    /// If a line is not of this kind, or the file system fails.
    pub fn open_to_read<L: DeserializeOwned>(
        archive: &Path,
        name: &str,
    ) -> Result<(Self, Vec<L>), ArchiveError> {
        let lines = match Self::read(archive, name) {
            Err(ArchiveError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
                Vec::new()
            }
            lines => lines?,
        };
        Ok((Self { directory: None, name: name.to_owned() }, lines))
    }

    /// The lines of a log; none if it does not exist. Nothing is written.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn read<L: DeserializeOwned>(archive: &Path, name: &str) -> Result<Vec<L>, ArchiveError> {
        let path = archive.join(RECORDS).join(name);
        match std::fs::read(&path) {
            Ok(content) => parsed(&content, &path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(ArchiveError::io(path)(error)),
        }
    }

    /// Adds lines, and returns when they are on the disk.
    ///
    /// # Errors
    /// If the file system fails. None of the lines is in the log then.
    pub fn add<L: Serialize>(&mut self, lines: &[L]) -> Result<(), ArchiveError> {
        let mut text = String::new();
        for line in lines {
            text += &serde_json::to_string(line).expect("a line of a log has finite numbers and names only");
            text.push('\n');
        }
        let Some(directory) = &self.directory else { return Err(ArchiveError::OnlyRead) };
        let added = if lines.is_empty() { Ok(()) } else { self.append(directory, text.as_bytes()) };
        added.map_err(ArchiveError::io(directory.path().join(&self.name)))
    }

    fn append(&self, directory: &Directory, text: &[u8]) -> io::Result<()> {
        let mut file = directory.own_file(self.name.as_ref(), MODE)?;
        // Until the file is closed, no other process adds.
        files::hold_when_free(&file)?;
        let end = end_of_whole_lines(&mut file)?;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        let added = file.write_all(text).and_then(|()| file.sync_data());
        if added.is_err() {
            // Half a line must not stay, even if nobody adds again.
            let _ = file.set_len(end);
        }
        added
    }
}

/// Where the last whole line ends.
fn end_of_whole_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut byte = [0];
    while end > 0 {
        file.seek(SeekFrom::Start(end - 1))?;
        file.read_exact(&mut byte)?;
        if byte == *b"\n" {
            break;
        }
        end -= 1;
    }
    Ok(end)
}

/// The whole lines of a log.
fn parsed<L: DeserializeOwned>(content: &[u8], path: &Path) -> Result<Vec<L>, ArchiveError> {
    let whole = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(content[..whole].split(|byte| *byte == b'\n')) {
        // File systems leave bytes of zero where a power cut came before the content.
        if line.iter().all(|byte| *byte == 0) {
            continue;
        }
        lines.push(serde_json::from_slice(line).map_err(|error| ArchiveError::DamagedLine {
            path: path.to_owned(),
            line: number,
            reason: error.to_string(),
        })?);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_and_half_a_line_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path();
        assert!(Log::read::<u32>(archive, "numbers.jsonl").unwrap().is_empty());
        let (mut log, lines) = Log::open::<u32>(archive, "numbers.jsonl").unwrap();
        assert!(lines.is_empty());
        log.add(&[1, 2]).unwrap();
        log.add(&[3]).unwrap();
        let path = archive.join(RECORDS).join("numbers.jsonl");
        let mut content = std::fs::read(&path).unwrap();
        content.extend(b"\0\0\n45");
        std::fs::write(&path, content).unwrap();
        assert_eq!(Log::read::<u32>(archive, "numbers.jsonl").unwrap(), [1, 2, 3]);
        log.add(&[6]).unwrap();
        assert_eq!(Log::read::<u32>(archive, "numbers.jsonl").unwrap(), [1, 2, 3, 6]);
    }

    #[test]
    fn several_may_add() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Log::open::<u32>(directory.path(), "numbers.jsonl").unwrap().0;
        let (mut one, mut other) = (open(), open());
        one.add(&[1]).unwrap();
        other.add(&[2]).unwrap();
        one.add(&[3]).unwrap();
        assert_eq!(Log::read::<u32>(directory.path(), "numbers.jsonl").unwrap(), [1, 2, 3]);
    }

    #[test]
    fn a_line_of_another_kind_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let (mut log, _) = Log::open::<String>(directory.path(), "log.jsonl").unwrap();
        log.add(&["one"]).unwrap();
        let error = Log::open::<u32>(directory.path(), "log.jsonl").unwrap_err().to_string();
        assert!(error.contains("log.jsonl, line 1") && error.contains("remove the line"), "{error}");
    }
}
