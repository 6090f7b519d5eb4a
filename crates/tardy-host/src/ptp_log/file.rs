//! The file of the log, read as it grows.

use std::fs::Metadata;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tardy_sys::files::{self, InputFile};

use super::line::{Line, parse};

/// Of a longer log, only the end is read when it is opened, in bytes. ptp4l writes about 7 MB per day.
const OPENED_MAX: u64 = 64 << 20;
/// One reading takes at most so much, in bytes.
const READ_MAX: usize = 64 << 10;
/// A longer line is not one of ptp4l's, in bytes.
const LINE_MAX: usize = 4096;
/// How much of a line that is not understood is quoted, in characters.
const QUOTED_MAX: usize = 80;

/// The log of ptp4l or phc2sys in a file.
#[derive(Debug)]
pub struct PtpLog {
    path: PathBuf,
    file: InputFile,
    position: u64,
    /// The begin of a line whose end is not written yet.
    begun: Vec<u8>,
    /// Whether the line is longer than [`LINE_MAX`], so that its end is skipped.
    is_too_long: bool,
    malformed: u64,
    first_malformed: Option<String>,
}

impl PtpLog {
    /// Opens the log and reads what it has so far, at most the last 64 MiB. Returns the lines too.
    ///
    /// # Errors
    /// A message for the user: the file cannot be read, is not a regular file, or has lines but none of ptp4l's or phc2sys's.
    pub fn open(path: &Path) -> Result<(Self, Vec<Line>), String> {
        let cannot = |error: io::Error| {
            format!("{}: {error}; --ptp4l-log takes a file with the output of `ptp4l -m`", path.display())
        };
        let file = files::open_to_read(path).map_err(cannot)?;
        let metadata = file.file().metadata().map_err(cannot)?;
        if !metadata.is_file() {
            return Err(format!(
                "{} is not a regular file; write the log to a file, for example with `journalctl -f -o cat -u ptp4l@eth0 > FILE`",
                path.display()
            ));
        }
        let mut log = Self {
            path: path.to_owned(),
            file,
            position: 0,
            begun: Vec::new(),
            is_too_long: false,
            malformed: 0,
            first_malformed: None,
        };
        if metadata.len() > OPENED_MAX {
            log.position =
                log.file.file().seek(SeekFrom::Start(metadata.len() - OPENED_MAX)).map_err(cannot)?;
            // The rest of a line whose begin is not read.
            log.is_too_long = true;
        }
        let mut lines = Vec::new();
        while log.read_once(&mut lines).map_err(cannot)? > 0 {}
        if let Some(first) = &log.first_malformed
            && lines.is_empty()
        {
            return Err(format!(
                "{} is not a log of ptp4l or phc2sys: no line has a time such as 'ptp4l[1234.567]:', and the first is '{first}'",
                path.display()
            ));
        }
        log.take_malformed();
        Ok((log, lines))
    }

    /// The path that the user gave.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads once what was written since the last call, 64 KiB at most, and adds its complete lines. Returns the bytes read: 0 if
    /// there was nothing. A file that was cut, or another one of the same name, is read from its start.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_once(&mut self, lines: &mut Vec<Line>) -> io::Result<usize> {
        let mut buffer = vec![0; READ_MAX];
        let mut count = self.file.file().read(&mut buffer)?;
        if count == 0 && self.starts_again()? {
            count = self.file.file().read(&mut buffer)?;
        }
        self.position += count as u64;
        self.add(&buffer[..count], lines);
        Ok(count)
    }

    /// Removes and returns how many lines were not understood since the last call, and the first of them.
    pub fn take_malformed(&mut self) -> Option<(u64, String)> {
        Some((std::mem::take(&mut self.malformed), self.first_malformed.take()?))
    }

    /// Whether the file was cut, or the name has another file now; then it is opened at its start.
    fn starts_again(&mut self) -> io::Result<bool> {
        let id = |metadata: &Metadata| (metadata.dev(), metadata.ino());
        let own = self.file.file().metadata()?;
        // Between the two steps of a rotation there is no file of this name.
        let Ok(named) = std::fs::metadata(&self.path) else { return Ok(false) };
        if id(&named) != id(&own) && named.is_file() {
            self.file = files::open_to_read(&self.path)?;
        } else if own.len() < self.position {
            self.file.file().rewind()?;
        } else {
            return Ok(false);
        }
        (self.position, self.is_too_long) = (0, false);
        self.begun.clear();
        Ok(true)
    }

    fn add(&mut self, bytes: &[u8], lines: &mut Vec<Line>) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_end) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            if !self.is_too_long {
                self.begun.extend_from_slice(text);
            }
            if self.begun.len() > LINE_MAX {
                self.is_too_long = true;
                self.count_malformed();
                self.begun.clear();
            }
            if is_end {
                if !std::mem::take(&mut self.is_too_long) {
                    match parse(&String::from_utf8_lossy(&self.begun)) {
                        Some(line) => lines.push(line),
                        None if self.begun.trim_ascii().is_empty() => {}
                        None => self.count_malformed(),
                    }
                }
                self.begun.clear();
            }
        }
    }

    fn count_malformed(&mut self) {
        self.malformed += 1;
        let quoted = || String::from_utf8_lossy(&self.begun).trim().chars().take(QUOTED_MAX).collect();
        self.first_malformed.get_or_insert_with(quoted);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::super::line::Statement;
    use super::*;

    fn new(lines: &mut PtpLog) -> Vec<i64> {
        let mut found = Vec::new();
        while lines.read_once(&mut found).unwrap() > 0 {}
        offsets(&found)
    }

    fn offsets(lines: &[Line]) -> Vec<i64> {
        let offset = |line: &Line| match line.states {
            Statement::Offset { offset_ns, .. } => Some(offset_ns),
            _ => None,
        };
        lines.iter().filter_map(offset).collect()
    }

    fn line(offset_ns: i64) -> String {
        format!("ptp4l[1.000]: master offset {offset_ns} s2 freq +0 path delay 10\n")
    }

    #[test]
    fn lines_are_read_as_they_are_completed_also_after_a_rotation() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut file = fs::File::create(&path).unwrap();
        write!(file, "{}{}", line(1), line(2)).unwrap();
        let (mut log, lines) = PtpLog::open(&path).unwrap();
        assert_eq!(offsets(&lines), [1, 2]);
        assert!(new(&mut log).is_empty());
        let (begin, end) = (line(3)[..20].to_owned(), line(3)[20..].to_owned());
        file.write_all(begin.as_bytes()).unwrap();
        assert!(new(&mut log).is_empty());
        file.write_all(end.as_bytes()).unwrap();
        assert_eq!(new(&mut log), [3]);

        file.set_len(0).unwrap();
        file.rewind().unwrap();
        file.write_all(line(4).as_bytes()).unwrap();
        assert_eq!(new(&mut log), [4], "cut");

        fs::rename(&path, directory.path().join("log.1")).unwrap();
        assert!(new(&mut log).is_empty(), "no file has the name");
        fs::write(&path, line(5)).unwrap();
        assert_eq!(new(&mut log), [5], "another file has the name");
    }

    #[test]
    fn lines_that_are_not_understood_are_counted_and_the_first_is_quoted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        fs::write(&path, line(1)).unwrap();
        let (mut log, _) = PtpLog::open(&path).unwrap();
        let long = "x".repeat(3 * LINE_MAX);
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        write!(file, "ptp4l[1.000]: rms x\n\n{long}\n{}", line(2)).unwrap();
        assert_eq!(new(&mut log), [2]);
        assert_eq!(log.take_malformed(), Some((2, "ptp4l[1.000]: rms x".to_owned())));
        assert_eq!(log.take_malformed(), None);
    }

    #[test]
    fn a_file_that_is_not_a_log_is_refused_and_an_empty_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        fs::write(&path, "").unwrap();
        assert!(PtpLog::open(&path).unwrap().1.is_empty());
        fs::write(&path, "about = \"a switch\"\n").unwrap();
        let error = PtpLog::open(&path).unwrap_err();
        assert!(error.contains("is not a log of ptp4l") && error.contains("about = "), "{error}");
        let error = PtpLog::open(directory.path()).unwrap_err();
        assert!(error.contains("it is a directory") && error.contains("--ptp4l-log"), "{error}");
        let error = PtpLog::open(&directory.path().join("absent")).unwrap_err();
        assert!(error.contains("No such file") && error.contains("ptp4l -m"), "{error}");
    }
}
