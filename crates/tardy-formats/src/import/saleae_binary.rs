//! Saleae's binary export of digital channels, versions 0 and 1: a file for each channel with the times of its edges in
//! seconds, as f64.
//!
//! A capture of two channels is two files in one directory, `digital_0.bin` and `digital_1.bin`; the number is that of
//! the channel. Times become whole picoseconds: an f64 is exact to that for the first two hours, and finer than any
//! sample for weeks.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use tardy_record::capture::ResolvedBy;

use super::ImportOptions;
use crate::capture::{Capture, Choice, Level, Levels, TimeBase};
use crate::error::{ImportError, Result};
use crate::imported::Imported;

/// The magic at the beginning.
pub(crate) const MAGIC: &[u8; 8] = b"<SALEAE>";
/// Femtoseconds in a picosecond.
const PICOSECOND_FS: u64 = 1000;
/// The largest distance of a time from 0, in ps (2^62, 53 days).
const PS_MAX: f64 = 4.6e18;
/// The most channels in a directory.
const CHANNEL_MAX: u32 = 1024;

/// Imports a channel, and a second one from the same directory if it was named.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let own = options.path.as_deref().and_then(number_of);
    let present: Vec<u32> = options.path.as_deref().map(channels_in_directory).unwrap_or_default();
    let names: Vec<String> = match own {
        Some(own) if options.input.is_none() && options.output.is_none() => vec![own.to_string()],
        Some(_) => present.iter().map(u32::to_string).collect(),
        None => vec!["digital".to_owned()],
    };
    // Channels are named by their number, not by their position in the directory.
    let options = ImportOptions {
        input: options.input.as_deref().map(|name| plain(name, &names)),
        output: options.output.as_deref().map(|name| plain(name, &names)),
        ..options.clone()
    };
    let choice = Choice::among(names.as_slice(), &options)?;
    let chosen: Vec<Option<u32>> = choice.names.iter().map(|name| name.parse().ok()).collect();
    if own.is_some() && chosen.first() != Some(&own) {
        let first = chosen.first().copied().flatten().unwrap_or(0);
        return Err(ImportError::OtherChannel(format!("digital_{first}.bin")));
    }
    let mut files = Vec::new();
    let mut reader = Some(reader);
    for channel in &chosen {
        let stream: Box<dyn Read + '_> = match (*channel == own || own.is_none(), &options.path) {
            (false, Some(path)) => {
                let path = sibling(path, channel.unwrap_or(0));
                let file = File::open(&path).map_err(|error| {
                    ImportError::field(path.display().to_string(), format!("it cannot be read: {error}"))
                })?;
                Box::new(BufReader::new(file))
            }
            _ => match reader.take() {
                Some(reader) => Box::new(BufReader::new(reader)),
                None => return Err(ImportError::field("channel", "the file has only one channel")),
            },
        };
        let name = channel.map_or_else(|| "the file".to_owned(), |number| format!("digital_{number}.bin"));
        files.push(ChannelFile::open(stream, name)?);
    }
    merged(files, choice)
}

/// The number of a channel, by any of its names: `3`, `digital_3`, `digital_3.bin`, `Channel 3`.
fn plain(name: &str, names: &[String]) -> String {
    let number = name.trim().trim_start_matches("digital_").trim_start_matches("Channel ");
    let number = number.trim_end_matches(".bin");
    if names.iter().any(|known| known == number) {
        return number.to_owned();
    }
    // A number that is not a channel must not be read as a position in the list.
    if number.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("digital_{number}.bin")
    } else {
        name.to_owned()
    }
}

fn number_of(path: &Path) -> Option<u32> {
    let number = path.file_name()?.to_str()?.strip_prefix("digital_")?.strip_suffix(".bin")?;
    number.parse().ok().filter(|number| *number < CHANNEL_MAX)
}

fn sibling(path: &Path, number: u32) -> PathBuf {
    path.with_file_name(format!("digital_{number}.bin"))
}

fn channels_in_directory(path: &Path) -> Vec<u32> {
    (0..CHANNEL_MAX).filter(|number| sibling(path, *number).is_file()).collect()
}

/// Merges the edges of all files in time order.
fn merged(mut files: Vec<ChannelFile<'_>>, choice: Choice) -> Result<Imported> {
    let rate = files.iter().map(|file| file.rate.unwrap_or(0)).min().unwrap_or(0);
    let mut capture = Capture::new(choice, TimeBase::of_femtoseconds(PICOSECOND_FS, ResolvedBy::Unstated));
    if rate > 0 {
        capture.resolve(1_000_000_000_000u64.div_ceil(rate).max(1), ResolvedBy::SampleRate);
    }
    let start = files.iter().filter_map(|file| file.next.map(|(at, _)| at)).min();
    let Some(start) = start else {
        return Err(ImportError::field("the file", "it contains no captured data"));
    };
    let mut levels = Levels::default();
    // The times of each file ascend; files are merged.
    while let Some(at) = files.iter().filter_map(|file| file.next.map(|(at, _)| at)).min() {
        for (index, file) in files.iter_mut().enumerate() {
            while let Some((_, level)) = file.next.filter(|(next, _)| *next == at) {
                capture.change(index, std::mem::replace(&mut levels[index], level), level);
                file.advance()?;
            }
        }
        let now = at.abs_diff(start);
        if capture.differs_from(levels) {
            capture.state(now, levels);
        } else {
            capture.end_at(now);
        }
    }
    let mut imported = capture.imported(None);
    imported.cut_short = files.iter().any(|file| file.cut_short);
    for file in files.iter().filter(|file| file.cut_short) {
        imported.remarks.push(format!(
            "{} was cut off: its header states {} edges, but it has {}",
            file.name, file.stated, file.given
        ));
    }
    for file in files.iter_mut().filter(|file| !file.cut_short) {
        let surplus = std::io::copy(&mut file.reader, &mut std::io::sink())?;
        if surplus > 0 {
            let bytes = if surplus == 1 { "byte follows" } else { "bytes follow" };
            imported
                .remarks
                .push(format!("{}: {surplus} {bytes} after the last edge are ignored", file.name));
        }
    }
    imported.time_unit_stated = Some("Saleae's binary files have times in s".to_owned());
    Ok(imported)
}

/// Reads the edges of one file.
struct ChannelFile<'a> {
    reader: Box<dyn Read + 'a>,
    name: String,
    rate: Option<u64>,
    version: i32,
    chunks_left: u64,
    transitions_left: u64,
    /// Whether the end of the chunk was returned.
    ended: bool,
    level: bool,
    end_ps: i64,
    /// The next time and the level from there on.
    next: Option<(i64, Level)>,
    last_ps: i64,
    stated: u64,
    given: u64,
    cut_short: bool,
}

impl<'a> ChannelFile<'a> {
    fn open(reader: Box<dyn Read + 'a>, name: String) -> Result<Self> {
        let mut file = Self {
            reader,
            name,
            rate: None,
            version: 0,
            chunks_left: 1,
            transitions_left: 0,
            ended: false,
            level: false,
            end_ps: i64::MIN,
            next: None,
            last_ps: i64::MIN,
            stated: 0,
            given: 0,
            cut_short: false,
        };
        let mut head = [0; 16];
        let too_short = || ImportError::field("head", "the file is shorter than its header");
        if !file.fill(&mut head)? {
            return Err(too_short());
        }
        if &head[..8] != MAGIC {
            return Err(file.wrong("head", "it does not begin with <SALEAE>".to_owned()));
        }
        let i32_at = |at: usize| i32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        file.version = i32_at(8);
        match (file.version, i32_at(12)) {
            (0 | 1, 0) => {}
            (_, 1) => {
                let reason = "it is an analog channel; export the digital ones".to_owned();
                return Err(file.wrong("type", reason));
            }
            (version, kind) => {
                let reason = format!("version {version}, type {kind}: expected version 0 or 1 and type 0");
                return Err(file.wrong("version", reason));
            }
        }
        if file.version == 1 {
            file.chunks_left = file.word()?.ok_or_else(too_short)?;
        }
        if !file.chunk()? {
            return Err(too_short());
        }
        Ok(file)
    }

    /// Begins a chunk, which is a part of the capture without a break. False if there is none.
    fn chunk(&mut self) -> Result<bool> {
        if self.chunks_left == 0 {
            return Ok(false);
        }
        self.chunks_left -= 1;
        let mut state = [0; 4];
        if !self.fill(&mut state)? {
            return Ok(false);
        }
        let rate = if self.version == 1 { self.word()?.map(f64::from_bits) } else { Some(0.0) };
        let (Some(rate), Some(begin), Some(end), Some(transitions)) =
            (rate, self.word()?, self.word()?, self.word()?)
        else {
            return Ok(false);
        };
        if self.version == 1 {
            if !(1.0..=1e15).contains(&rate) {
                return Err(self.wrong("sample_rate", format!("{rate} Hz is not a sample rate")));
            }
            self.rate = Some(self.rate.map_or(rate as u64, |known| known.min(rate as u64)));
        }
        self.level = match u32::from_le_bytes(state) {
            0 => false,
            1 => true,
            other => return Err(self.wrong("initial_state", format!("{other} is not a level"))),
        };
        let begin_ps = self.picoseconds(f64::from_bits(begin), "begin_time")?;
        self.end_ps = self.picoseconds(f64::from_bits(end), "end_time")?;
        if self.end_ps < begin_ps || begin_ps < self.last_ps {
            let reason = "it ends before it begins, or begins before the end of the previous one".to_owned();
            return Err(self.wrong("begin_time", reason));
        }
        self.transitions_left = transitions;
        self.stated = self.stated.saturating_add(transitions);
        self.ended = false;
        (self.last_ps, self.next) = (begin_ps, Some((begin_ps, Level::of(self.level))));
        Ok(true)
    }

    /// Advances to the next edge, the end of the chunk, or the beginning of the next chunk.
    fn advance(&mut self) -> Result<()> {
        if self.ended {
            let expected = self.chunks_left > 0;
            self.next = None;
            if !self.chunk()? && expected {
                self.cut_short = true;
            }
            return Ok(());
        }
        if self.transitions_left == 0 {
            // After the last edge of a chunk, the level is unknown until the next chunk begins.
            let level = if self.chunks_left > 0 { Level::Unknown } else { Level::of(self.level) };
            (self.ended, self.last_ps, self.next) = (true, self.end_ps, Some((self.end_ps, level)));
            return Ok(());
        }
        let Some(word) = self.word()? else {
            (self.cut_short, self.next) = (true, None);
            return Ok(());
        };
        let at = self.picoseconds(f64::from_bits(word), "transition")?;
        if at < self.last_ps || at > self.end_ps {
            let reason = format!("edge {} is before the previous edge or after the end", self.given + 1);
            return Err(self.wrong("transition", reason));
        }
        self.transitions_left -= 1;
        self.given += 1;
        self.level = !self.level;
        (self.last_ps, self.next) = (at, Some((at, Level::of(self.level))));
        Ok(())
    }

    fn picoseconds(&self, seconds: f64, field: &str) -> Result<i64> {
        let ps = (seconds * 1e12).round();
        if ps.is_nan() || ps.abs() >= PS_MAX {
            return Err(self.wrong(field, format!("{seconds} s is not a valid time")));
        }
        Ok(ps as i64)
    }

    fn wrong(&self, field: &str, reason: String) -> ImportError {
        ImportError::field(format!("{}, {field}", self.name), reason)
    }

    fn word(&mut self) -> Result<Option<u64>> {
        let mut word = [0; 8];
        Ok(self.fill(&mut word)?.then(|| u64::from_le_bytes(word)))
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool> {
        match self.reader.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
