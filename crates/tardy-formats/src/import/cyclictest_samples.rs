//! cyclictest's single samples (-v): a line for each, `thread:cycle:value`.
//!
//! The fast path of the importer: lines are taken apart byte by byte, from blocks, without a line ever being copied. The
//! cycle's number counts recorded wake-ups only, and nothing says when one was: such a series has no time.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::Read;

use tardy_record::foreign::{ForeignSeries, LatePeriods};
use tardy_record::series::{Level, Quantity, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_record::{Knowable, Series};

use super::{ImportOptions, cyclictest_text};
use crate::error::{ImportError, Result};
use crate::imported::{Imported, ImportedPhase, Readings, Stream, Unit};
use crate::lines::LINE_MAX;
use crate::read_more::read_more;

const THREAD_MAX: usize = 4096;
const BLOCK: usize = 1 << 20;

/// Imports samples.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let mut imported = Imported {
        tool: "cyclictest".to_owned(),
        measures: cyclictest_text::MEASURES,
        late_periods: LatePeriods::Skipped,
        wake: Some(Knowable::Unknown),
        ..Imported::default()
    };
    let known = cyclictest_text::told(options, &mut imported);
    let unit = cyclictest_text::unit(options, known.as_ref(), &mut imported, "cyclictest's list of samples")?;
    let mut samples =
        Samples { unit, threads: Vec::new(), cycles: BTreeMap::new(), line: 0, cut_short: false };
    samples.read(reader)?;
    imported.cut_short = samples.cut_short;
    imported.remarks.push(
        "the file does not say when a sample was taken: there is no plot over time; with -o of cyclictest only the worst of \
         several would be in it"
            .to_owned(),
    );
    let mut phase = ImportedPhase { label: "cyclictest".to_owned(), streams: Vec::new() };
    for (thread, builder) in samples.threads.iter().enumerate() {
        let Some((builder, lost)) = builder else { continue };
        let mut stream =
            Stream::of_thread(thread as u32, Readings::Samples(Box::new(untimed(builder, unit))));
        let listed = builder.recorded() + lost;
        let unlisted = samples.cycles.get(&thread).map_or(0, |cycles| cycles.saturating_sub(listed));
        let lost = lost + unlisted;
        if lost > 0 {
            imported.remarks.push(format!(
                "thread {thread}: {lost} cycles have no line: cyclictest's buffer overran, or they were not printed"
            ));
        }
        if let Some(known) = &known {
            cyclictest_text::complete_from_command(&mut stream, known);
        }
        phase.streams.push(stream);
    }
    if phase.streams.is_empty() {
        return Err(ImportError::field("the file", "there is no sample in it"));
    }
    imported.phases.push(phase);
    Ok(imported)
}

/// The series of a builder that was given no times.
fn untimed(builder: &SeriesBuilder, unit: Unit) -> Series {
    let kind = ForeignSeries { resolution_ns: unit.ns() as u64, ..ForeignSeries::default() };
    let kind = SeriesKind::Foreign(Box::new(kind));
    let mut series = builder.series(String::new(), 0, Quantity::Latency, Level::UserThread, kind);
    (series.counted_ns, series.max_at_ns) = (0, None);
    series.slices.clear();
    series.worst.clear();
    series.block_maxima.maxima_ns.clear();
    series.tally.missed = Knowable::Unknown;
    series.tally.dropped = Knowable::Unknown;
    series.tally.attempted = Knowable::Unknown;
    series
}

struct Samples {
    unit: Unit,
    /// Of each thread what was recorded, and cycles that have no line.
    threads: Vec<Option<(SeriesBuilder, u64)>>,
    /// How many cycles each thread's own line says that it had, the last that there is.
    cycles: BTreeMap<usize, u64>,
    line: u64,
    cut_short: bool,
}

impl Samples {
    fn read(&mut self, reader: &mut dyn Read) -> Result<()> {
        let mut buffer = vec![0u8; BLOCK + LINE_MAX];
        let mut kept = 0;
        loop {
            let count = read_more(reader, &mut buffer[kept..])?;
            let end = kept + count;
            if count == 0 {
                // Digits of a last line without an end may be missing.
                self.cut_short = kept > 0 && !buffer[..kept].iter().all(u8::is_ascii_whitespace);
                return Ok(());
            }
            let used = self.take_lines(&buffer[..end])?;
            if end - used >= LINE_MAX {
                let reason = format!("it is longer than {LINE_MAX} bytes, which no sample is");
                return Err(ImportError::line(self.line + 1, "whole line", reason));
            }
            buffer.copy_within(used..end, 0);
            kept = end - used;
        }
    }

    /// Takes the whole lines of `block`; how many bytes they have.
    fn take_lines(&mut self, block: &[u8]) -> Result<usize> {
        let mut at = 0;
        loop {
            match sample(&block[at..]) {
                Some((sample, length)) => {
                    at += length;
                    self.line += 1;
                    self.record(sample)?;
                }
                None => {
                    let Some(length) = block[at..].iter().position(|byte| *byte == b'\n') else {
                        return Ok(at);
                    };
                    self.line += 1;
                    self.other_line(&block[at..at + length])?;
                    at += length + 1;
                }
            }
        }
    }

    #[inline]
    fn record(&mut self, sample: Sample) -> Result<()> {
        let thread = sample.thread as usize;
        if !matches!(self.threads.get(thread), Some(Some(_))) {
            self.begin(thread)?;
        }
        let Some(Some((builder, lost))) = self.threads.get_mut(thread) else {
            return Err(ImportError::line(self.line, "thread", "is none"));
        };
        let value_ns = sample.value.saturating_mul(self.unit.ns());
        builder.record(Reading { value_ns, at_ns: 0, cycle: sample.cycle, missed: 0 });
        let expected = builder.recorded() - 1 + *lost;
        match sample.cycle.cmp(&expected) {
            Ordering::Equal => {}
            Ordering::Greater => *lost += sample.cycle - expected,
            Ordering::Less => return Err(goes_back(self.line, &sample, expected)),
        }
        Ok(())
    }

    fn begin(&mut self, thread: usize) -> Result<()> {
        if thread >= THREAD_MAX {
            return Err(ImportError::line(self.line, "thread", format!("{thread} is no thread's number")));
        }
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, || None);
        }
        let builder = SeriesBuilder::new(0, None, 0, &[]).of_unit(self.unit.ns() as u32);
        self.threads[thread] = Some((builder, 0));
        Ok(())
    }

    /// A line that is no sample: headers are passed over, damage is not.
    fn other_line(&mut self, line: &[u8]) -> Result<()> {
        let text = String::from_utf8_lossy(&line[..line.len().min(100)]);
        let text = text.trim();
        if let Some((thread, cycles)) = cycles_of(text).filter(|(thread, _)| *thread < THREAD_MAX) {
            self.cycles.insert(thread, cycles);
        }
        let known = ["Max CPUs", "Online CPUs", "#", "Thread ", "policy:", "T:", "\u{1b}"];
        if text.is_empty() || known.iter().any(|start| text.starts_with(start)) {
            return Ok(());
        }
        let shown: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
        Err(ImportError::line(self.line, "whole line", format!("'{shown}' is no sample: thread:cycle:value")))
    }
}

#[cold]
fn goes_back(line: u64, sample: &Sample, expected: u64) -> ImportError {
    let reason = format!(
        "thread {} goes back to {}, where {expected} was the least that could follow: that is another measurement; split \
         the file, and import each",
        sample.thread, sample.cycle
    );
    ImportError::line(line, "cycle", reason)
}

/// Thread and cycles of `T: 0 (15321) P:90 I:200 C:  49964 Min: …`.
fn cycles_of(text: &str) -> Option<(usize, u64)> {
    let thread = text.strip_prefix("T:")?.split_whitespace().next()?.parse().ok()?;
    let cycles = text.split_once(" C:")?.1.split_whitespace().next()?.parse().ok()?;
    Some((thread, cycles))
}

#[derive(Clone, Copy)]
struct Sample {
    thread: u32,
    cycle: u64,
    value: i64,
}

/// The sample in the first line of `bytes` and the length of that line; nothing where it is none, or has no end.
#[inline]
fn sample(bytes: &[u8]) -> Option<(Sample, usize)> {
    let (thread, at) = digits(bytes, 0, 4)?;
    if bytes.get(at) != Some(&b':') {
        return None;
    }
    let (cycle, at) = digits(bytes, at + 1, 18)?;
    if bytes.get(at) != Some(&b':') {
        return None;
    }
    let mut at = at + 1;
    while bytes.get(at) == Some(&b' ') {
        at += 1;
    }
    let negative = bytes.get(at) == Some(&b'-');
    let (value, mut at) = digits(bytes, at + usize::from(negative), 15)?;
    if bytes.get(at) == Some(&b'\r') {
        at += 1;
    }
    if bytes.get(at) != Some(&b'\n') {
        return None;
    }
    let value = if negative { -(value as i64) } else { value as i64 };
    Some((Sample { thread: thread as u32, cycle, value }, at + 1))
}

/// A number of at most `most` digits behind blanks, and where it ends.
#[inline]
fn digits(bytes: &[u8], mut at: usize, most: usize) -> Option<(u64, usize)> {
    while bytes.get(at) == Some(&b' ') {
        at += 1;
    }
    let start = at;
    let mut number = 0u64;
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (at > start && at - start <= most).then_some((number, at))
}
