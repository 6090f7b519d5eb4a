//! sigrok's session files (`.sr`, srzip): a zip with `version`, `metadata` and the samples in `logic-1-1`, `logic-1-2` …
//!
//! A sample is a few bytes with a bit for each channel. Members are read in the order of the file. Samples before the
//! metadata or out of order, as in an archive that was packed again, are kept in memory until their turn.

use std::collections::BTreeMap;
use std::io::Read;

use super::ImportOptions;
use super::level_csv::sample_rate;
use crate::capture::{Capture, Choice, Level, Levels, TimeBase};
use crate::error::{ImportError, Result};
use crate::imported::Imported;
use tardy_unpack::{End, Zip, ZipMember as Member};

/// The most bytes of metadata, which are a page of text.
const METADATA_MAX: usize = 1 << 20;
/// The most bytes of samples that wait for their turn.
const WAITING_MAX: usize = 256 << 20;
/// The most channels.
const PROBE_MAX: usize = 1024;

/// Imports a session.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let mut session = Session { options: options.clone(), ..Session::default() };
    let mut zip = Zip::new(reader);
    let cut_short = loop {
        match zip.next_member()? {
            Err(()) => break true,
            Ok(None) => break false,
            Ok(Some(member)) => {
                if session.member(&mut zip, &member)? {
                    break true;
                }
            }
        }
    };
    session.imported(cut_short)
}

/// The content of `metadata`.
#[derive(Clone, Debug, Default)]
struct Metadata {
    version: Option<String>,
    rate: Option<u64>,
    unit_size: usize,
    /// The names of channels by number, from 1.
    probes: BTreeMap<usize, String>,
    probe_count: Option<usize>,
    /// The name of the members with samples, without their number.
    capture_file: String,
    devices: usize,
    has_analog: bool,
}

impl Metadata {
    fn of(text: &str) -> Result<Self> {
        let mut metadata = Self { capture_file: "logic-1".to_owned(), ..Self::default() };
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.starts_with("[device ") {
                metadata.devices += 1;
            }
            let Some((key, value)) = line.split_once('=').map(|(key, value)| (key.trim(), value.trim()))
            else {
                continue;
            };
            let place = || format!("metadata, line {}, {}", index + 1, shown(key));
            let number = || {
                value.parse::<usize>().ok().filter(|number| *number <= PROBE_MAX).ok_or_else(|| {
                    ImportError::field(
                        place(),
                        format!("'{}' is not a number up to {PROBE_MAX}", shown(value)),
                    )
                })
            };
            if key == "sigrok version" {
                metadata.version = Some(format!("libsigrok {}", shown(value)));
            }
            // Only the first of several devices has samples.
            if metadata.devices != 1 {
                continue;
            }
            match key {
                "samplerate" => {
                    metadata.rate = Some(sample_rate(value).ok_or_else(|| {
                        let reason = format!(
                            "'{}' is not a sample rate; expected a number with Hz, kHz, MHz or GHz",
                            shown(value)
                        );
                        ImportError::field(place(), reason)
                    })?);
                }
                "unitsize" => metadata.unit_size = number()?,
                "total probes" => metadata.probe_count = Some(number()?),
                "total analog" => metadata.has_analog = number()? > 0,
                "capturefile" => metadata.capture_file = shown(value),
                _ => {
                    let probe = key.strip_prefix("probe").and_then(|number| number.parse::<usize>().ok());
                    if let Some(probe) = probe.filter(|probe| (1..=PROBE_MAX).contains(probe)) {
                        metadata.probes.insert(probe, shown(value));
                    }
                }
            }
        }
        metadata.check()?;
        Ok(metadata)
    }

    /// Checks for contradictions.
    fn check(&mut self) -> Result<()> {
        let wrong = |key: &str, reason: String| Err(ImportError::field(format!("metadata, {key}"), reason));
        if self.rate.is_none() {
            return wrong("samplerate", "it is missing, so the time between samples is unknown".to_owned());
        }
        let highest = self.probes.keys().next_back().copied().unwrap_or(0);
        let count = self.probe_count.unwrap_or(highest);
        if highest == 0 {
            return wrong("probe1", "there is no digital channel".to_owned());
        }
        if highest > count {
            return wrong("total probes", format!("it is {count}, but there is a probe{highest}"));
        }
        if self.unit_size == 0 {
            self.unit_size = count.div_ceil(8);
        }
        if self.unit_size * 8 < count {
            let reason = format!("{} bytes are too few for {count} channels", self.unit_size);
            return wrong("unitsize", reason);
        }
        Ok(())
    }
}

fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

#[derive(Default)]
struct Session {
    options: ImportOptions,
    version: Option<String>,
    samples: Option<Samples>,
    /// The bytes of members that came before their turn, by number.
    waiting: BTreeMap<u64, Vec<u8>>,
    waiting_bytes: usize,
    /// The number of the member with the next samples.
    next: u64,
    damaged: Vec<String>,
    has_analog: bool,
    devices: usize,
    /// Samples per second.
    rate: u64,
    capture_file: Option<String>,
}

impl Session {
    /// Reads a member. Returns whether the file ends within the member.
    fn member(&mut self, zip: &mut Zip<&mut dyn Read>, member: &Member) -> Result<bool> {
        let end = match member.name.as_str() {
            "metadata" if self.capture_file.is_none() => {
                let (text, end) = small(zip, member)?;
                if end != End::CutOff {
                    self.metadata(&Metadata::of(&String::from_utf8_lossy(&text))?)?;
                    self.take_waiting()?;
                }
                end
            }
            "version" => {
                let (text, end) = small(zip, member)?;
                let version = String::from_utf8_lossy(&text).trim().to_owned();
                if end == End::Whole && !["1", "2"].contains(&version.as_str()) {
                    let reason = format!("version '{}' is not supported; expected 1 or 2", shown(&version));
                    return Err(ImportError::field("version", reason));
                }
                end
            }
            name => match self.number_of(name) {
                None => zip.content(member, |_| Ok::<_, ImportError>(()))?,
                Some(number) if self.samples.is_some() && number == self.next => {
                    let samples = self.samples.as_mut();
                    let Some(samples) = samples else { return Ok(false) };
                    let end = zip.content(member, |bytes| samples.take(bytes))?;
                    if end != End::CutOff {
                        samples.end_member(name)?;
                    }
                    self.next += 1;
                    if end != End::CutOff {
                        self.take_waiting()?;
                    }
                    end
                }
                Some(number) => self.keep(zip, member, number)?,
            },
        };
        match end {
            End::Whole => Ok(false),
            End::CutOff => Ok(true),
            End::Damaged(reason) => {
                self.damaged.push(reason);
                Ok(false)
            }
        }
    }

    /// The number of the member `name` with samples, from 1. Version 1 has one without a number.
    fn number_of(&self, name: &str) -> Option<u64> {
        let base = self.capture_file.as_deref().unwrap_or("logic-1");
        let rest = name.strip_prefix(base)?;
        if rest.is_empty() {
            return Some(1);
        }
        rest.strip_prefix('-')?.parse().ok().filter(|number| *number > 0)
    }

    fn keep(&mut self, zip: &mut Zip<&mut dyn Read>, member: &Member, number: u64) -> Result<End> {
        if number < self.next.max(1) || self.waiting.contains_key(&number) {
            return Err(ImportError::field(format!("zip, {}", member.name), "it appears twice"));
        }
        let mut kept = Vec::new();
        let room = WAITING_MAX - self.waiting_bytes;
        let end = zip.content(member, |bytes| {
            if kept.len() + bytes.len() > room {
                return Err(ImportError::TooMuch(format!(
                    "more than {} MiB of samples come before the metadata or out of order; pack the archive again with \
                     version and metadata first",
                    WAITING_MAX >> 20
                )));
            }
            kept.extend_from_slice(bytes);
            Ok(())
        })?;
        self.waiting_bytes += kept.len();
        self.waiting.insert(number, kept);
        Ok(end)
    }

    /// Reads the members whose turn has come.
    fn take_waiting(&mut self) -> Result<()> {
        while let Some(samples) = &mut self.samples
            && let Some(bytes) = self.waiting.remove(&self.next)
        {
            self.waiting_bytes -= bytes.len();
            samples.take(&bytes)?;
            samples.end_member(&format!("samples {}", self.next))?;
            self.next += 1;
        }
        Ok(())
    }

    fn metadata(&mut self, metadata: &Metadata) -> Result<()> {
        let names: Vec<String> = metadata.probes.values().cloned().collect();
        let bits: Vec<usize> = metadata.probes.keys().map(|probe| probe - 1).collect();
        let choice = Choice::among(names.as_slice(), &self.options)?;
        let places = choice.indices.iter().map(|index| bits[*index]).collect();
        let rate = metadata.rate.unwrap_or(1);
        self.samples =
            Some(Samples::new(Capture::new(choice, TimeBase::of_rate(rate)), metadata.unit_size, places));
        (self.version, self.next) = (metadata.version.clone(), 1);
        (self.has_analog, self.devices) = (metadata.has_analog, metadata.devices);
        self.rate = rate;
        self.capture_file = Some(metadata.capture_file.clone());
        Ok(())
    }

    fn imported(self, cut_short: bool) -> Result<Imported> {
        let Some(mut samples) = self.samples else {
            let reason = if cut_short {
                "it is missing in the part before the archive was cut off"
            } else {
                "it is missing: this is not a sigrok session"
            };
            return Err(ImportError::field("metadata", reason));
        };
        if samples.at == 0 {
            return Err(ImportError::field("zip", "it contains no whole sample"));
        }
        samples.capture.end_at(samples.at - 1);
        let count = samples.at;
        let mut imported = samples.capture.imported(self.version);
        imported.time_unit_stated = Some(format!("the archive's metadata have samplerate={} Hz", self.rate));
        imported.cut_short = cut_short;
        if cut_short {
            imported
                .remarks
                .push(format!("the archive was cut off; what is before that is imported, samples: {count}"));
        }
        if let Some(number) = self.waiting.keys().next() {
            let last = self.next - 1;
            imported.contradictions.push(format!(
                "samples {number} are there, but those between {last} and {number} are missing"
            ));
        }
        if self.has_analog {
            imported.remarks.push("the file also has analog channels, which are not imported".to_owned());
        }
        if self.devices > 1 {
            imported.remarks.push(format!("only the first of {} devices is imported", self.devices));
        }
        imported.contradictions.extend(self.damaged);
        Ok(imported)
    }
}

/// Reads a small member. An error if it is longer than [`METADATA_MAX`].
fn small(zip: &mut Zip<&mut dyn Read>, member: &Member) -> Result<(Vec<u8>, End)> {
    let mut text = Vec::new();
    let end = zip.content(member, |bytes| {
        if text.len() + bytes.len() > METADATA_MAX {
            let reason = format!("it is longer than {METADATA_MAX} bytes");
            return Err(ImportError::field(format!("zip, {}", member.name), reason));
        }
        text.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok((text, end))
}

/// Splits a stream of bytes into samples.
struct Samples {
    capture: Capture,
    unit_size: usize,
    /// Byte and bit of each chosen channel.
    places: Vec<(usize, u8)>,
    /// The bytes of an incomplete sample.
    part: Vec<u8>,
    /// The bytes of the previous sample that contain chosen channels.
    before: Vec<u8>,
    masks: Vec<u8>,
    /// The number of samples.
    at: u64,
}

impl Samples {
    fn new(capture: Capture, unit_size: usize, bits: Vec<usize>) -> Self {
        let places: Vec<(usize, u8)> = bits.iter().map(|bit| (bit / 8, 1 << (bit % 8))).collect();
        let mut masks = vec![0; unit_size];
        places.iter().for_each(|(byte, mask)| masks[*byte] |= mask);
        Self { capture, unit_size, places, part: Vec::new(), before: Vec::new(), masks, at: 0 }
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<()> {
        if !self.part.is_empty() {
            let missing = (self.unit_size - self.part.len()).min(bytes.len());
            self.part.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if self.part.len() < self.unit_size {
                return Ok(());
            }
            let part = std::mem::take(&mut self.part);
            self.whole(&part)?;
        }
        let whole = bytes.len() / self.unit_size * self.unit_size;
        self.whole(&bytes[..whole])?;
        self.part.extend_from_slice(&bytes[whole..]);
        Ok(())
    }

    /// Reads whole samples.
    fn whole(&mut self, bytes: &[u8]) -> Result<()> {
        let samples = (bytes.len() / self.unit_size) as u64;
        if self.at + samples > self.capture.ticks_max() {
            let reason = "there are too many samples";
            return Err(ImportError::field(format!("sample {}", self.at), reason));
        }
        if let ([mask], true) = (self.masks.as_slice(), !self.before.is_empty()) {
            // One byte per sample, and most samples equal the previous one.
            let mask = *mask;
            let mut from = 0;
            while let Some(next) = bytes[from..].iter().position(|byte| byte & mask != self.before[0]) {
                from += next;
                self.change(self.at + from as u64, &bytes[from..=from]);
            }
        } else {
            for (index, sample) in bytes.chunks_exact(self.unit_size).enumerate() {
                let differs = |before: &[u8]| {
                    sample
                        .iter()
                        .zip(&self.masks)
                        .zip(before)
                        .any(|((byte, mask), before)| byte & mask != *before)
                };
                if self.before.is_empty() || differs(&self.before) {
                    self.change(self.at + index as u64, sample);
                }
            }
        }
        self.at += samples;
        Ok(())
    }

    fn change(&mut self, at: u64, sample: &[u8]) {
        self.before.clear();
        self.before.extend(sample.iter().zip(&self.masks).map(|(byte, mask)| byte & mask));
        let mut levels = Levels::default();
        for (level, (byte, mask)) in levels.iter_mut().zip(&self.places) {
            *level = Level::of(sample[*byte] & mask != 0);
        }
        self.capture.state(at, levels);
    }

    /// Checks that a member does not end within a sample.
    fn end_member(&mut self, name: &str) -> Result<()> {
        let left = self.part.len();
        self.part.clear();
        if left > 0 {
            let reason = format!(
                "it ends with {left} of {} bytes of a sample; the metadata's unitsize is wrong, or it was cut off",
                self.unit_size
            );
            return Err(ImportError::field(format!("zip, {}", shown(name)), reason));
        }
        Ok(())
    }
}

/// Whether a zip begins like a sigrok session.
pub(crate) fn recognises(head: &[u8]) -> bool {
    let name = head.get(30..).unwrap_or_default();
    head.starts_with(b"PK\x03\x04")
        && (["version", "metadata", "logic-1"].iter().any(|known| name.starts_with(known.as_bytes())))
}
