//! cyclictest's single samples (-v): a line for each, `thread:cycle:value`.
//!
//! The fast path of the importer: lines are taken apart byte by byte, from blocks, without a line ever being copied. The
//! cycle's number counts recorded wake-ups only, and nothing says when one was: such a series has no time. At the end each
//! thread has a line with its count and extremes, those of cycles that were not printed with them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::Read;

use tardy_record::foreign::{ForeignSeries, LatePeriods};
use tardy_record::series::{Level, Quantity, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_record::{Knowable, Series};

use super::cyclictest_line::{THREAD_MAX, ThreadLine};
use super::{ImportOptions, cyclictest_text};
use crate::error::{ImportError, Result};
use crate::imported::{Imported, ImportedPhase, Readings, Stream, Unit};
use crate::lines::{LINE_MAX, Line};
use crate::read_more::read_more;

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
        Samples { unit, threads: Vec::new(), closing: BTreeMap::new(), line: 0, cut_short: false };
    samples.read(reader)?;
    imported.cut_short = samples.cut_short;
    imported.remarks.push(
        "the file does not say when a sample was taken: there is no plot over time; with -o of cyclictest only the worst of \
         several would be in it"
            .to_owned(),
    );
    let mut phase = ImportedPhase { label: "cyclictest".to_owned(), streams: Vec::new() };
    for (thread, builder) in samples.threads.iter_mut().enumerate() {
        let closing = samples.closing.get(&thread).copied();
        let Some((builder, lost)) = builder else { continue };
        let listed = builder.recorded() + *lost;
        let lost = *lost + closing.map_or(0, |(_, closing)| closing.cycles.saturating_sub(listed));
        if lost > 0 {
            imported.remarks.push(format!(
                "thread {thread}: {lost} cycles have no line: cyclictest's buffer overran, or they were not printed"
            ));
        }
        if let Some((line, closing)) = closing {
            imported.contradictions.extend(closing.own_contradiction(line));
            let listed = untimed(builder, unit);
            imported.contradictions.extend(contradiction(&listed, &closing, line, unit, lost));
            imported.remarks.extend(add_extremes(builder, &listed, &closing, unit, lost));
        }
        let series = Box::new(untimed(builder, unit));
        let mut stream = Stream::of_thread(thread as u32, Readings::Samples(series));
        if let Some(known) = &known {
            cyclictest_text::complete_from_command(&mut stream, known);
        }
        phase.streams.push(stream);
    }
    let has_samples = |thread: &usize| matches!(samples.threads.get(*thread), Some(Some(_)));
    for (thread, (line, closing)) in &samples.closing {
        if closing.cycles > 0 && !has_samples(thread) {
            imported.contradictions.push(format!(
                "line {line}, C, thread {thread}: it says {}, and no sample of the thread is there",
                closing.cycles
            ));
        }
    }
    if phase.streams.is_empty() {
        return Err(ImportError::field("the file", "there is no sample in it"));
    }
    imported.phases.push(phase);
    Ok(imported)
}

/// What of a thread's closing line contradicts its samples, of which `lost` are known to be missing.
fn contradiction(samples: &Series, closing: &ThreadLine, line: u64, unit: Unit, lost: u64) -> Option<String> {
    let units = |ns: Option<i64>| ns.map(|ns| ns.div_euclid(unit.ns()));
    let (min, max) = (units(samples.min_ns)?, units(samples.max_ns)?);
    let (all, listed) = (lost == 0, samples.tally.recorded);
    let (name, said, known) = match () {
        () if closing.cycles < listed => ("C", closing.cycles.to_string(), format!("{listed} samples")),
        () if closing.max < max || (all && closing.max > max) => {
            ("Max", closing.max.to_string(), format!("a maximum of {max}"))
        }
        () if closing.min > min || (all && closing.min < min) => {
            ("Min", closing.min.to_string(), format!("a minimum of {min}"))
        }
        () => return None,
    };
    let thread = closing.thread;
    Some(format!("line {line}, {name}, thread {thread}: it says {said}, and the file has {known}"))
}

/// Adds the extremes of a thread's closing line as readings, where they are of the `lost` ones, which have no line; and says
/// so. The longest comes first: of one lost reading only one can be.
fn add_extremes(
    samples: &mut SeriesBuilder,
    listed: &Series,
    closing: &ThreadLine,
    unit: Unit,
    lost: u64,
) -> Option<String> {
    let in_ns = |value: i64| value.saturating_mul(unit.ns());
    let (min_ns, max_ns) = (in_ns(closing.min), in_ns(closing.max));
    let longest = (listed.max_ns? < max_ns).then_some(("longest", max_ns));
    let shortest = (listed.min_ns? > min_ns).then_some(("shortest", min_ns));
    let mut told = Vec::new();
    for (name, value_ns) in longest.into_iter().chain(shortest).take(usize::try_from(lost).unwrap_or(2)) {
        let cycle = samples.recorded();
        samples.record(Reading { value_ns, at_ns: 0, cycle, missed: 0 });
        told.push(format!("the {name}, {} us", value_ns as f64 / 1000.0));
    }
    let thread = closing.thread;
    let which = told.join(", and ");
    (!told.is_empty()).then(|| {
        format!("thread {thread}: of the cycles without a line its closing line has {which}, counted once")
    })
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
    /// What each thread's own line says, the last that there is, and where it stands.
    closing: BTreeMap<usize, (u64, ThreadLine)>,
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
        let text = String::from_utf8_lossy(line);
        let text = cyclictest_text::without_cursor_codes(&text);
        let text = text.trim();
        if text.starts_with("T:") {
            let read = Line { number: self.line, text, cut: line.len() > LINE_MAX, unended: false };
            let read = ThreadLine::read(read, text)?;
            return match self.closing.insert(read.thread as usize, (self.line, read)) {
                Some((_, before)) => read.check_follows(&before, self.line),
                None => Ok(()),
            };
        }
        let known = ["Max CPUs", "Online CPUs", "#", "Thread ", "policy:"];
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

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: &str =
        "       0:       0:      15\n       0:       1:      14\n       0:       2:      20\n";

    fn import_text(text: &str) -> Result<Imported> {
        let options = ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() };
        import(&mut text.as_bytes(), &options)
    }

    fn closing(cycles: u64, min: i64, max: i64) -> String {
        format!("T: 0 (30017) P:80 I:1000 C: {cycles} Min: {min} Act: {min} Avg: 16 Max: {max}\n")
    }

    #[test]
    fn extremes_of_cycles_without_a_line_come_from_the_closing_line() {
        for (cycles, min, max, recorded) in [(3, 14, 20, 3), (9, 3, 900, 5), (4, 3, 900, 4), (9, 14, 900, 4)]
        {
            let imported = import_text(&(SAMPLES.to_owned() + &closing(cycles, min, max))).unwrap();
            assert!(imported.contradictions.is_empty(), "{:?}", imported.contradictions);
            let Readings::Samples(series) = &imported.phases[0].streams[0].readings else { panic!("counts") };
            assert_eq!(series.max_ns, Some(max * 1000));
            assert_eq!(series.tally.recorded, recorded, "{cycles} {min} {max}");
            let told = imported.remarks.iter().any(|remark| remark.contains("the longest, 900 us"));
            assert_eq!(told, max == 900, "{:?}", imported.remarks);
        }
    }

    #[test]
    fn a_closing_line_that_contradicts_its_samples_is_told() {
        for (line, expected) in [
            (closing(3, 14, 900), "line 4, Max, thread 0: it says 900, and the file has a maximum of 20"),
            (closing(3, 1, 20), "line 4, Min, thread 0: it says 1, and the file has a minimum of 14"),
            (closing(2, 14, 20), "line 4, C, thread 0: it says 2, and the file has 3 samples"),
            (closing(9, 14, 19), "line 4, Max, thread 0: it says 19"),
            (closing(9, 15, 20), "line 4, Min, thread 0: it says 15"),
            (
                closing(3, 14, 20) + &closing(9, 14, 20).replace("T: 0", "T: 1"),
                "line 5, C, thread 1: it says 9",
            ),
        ] {
            let imported = import_text(&(SAMPLES.to_owned() + &line)).unwrap();
            assert!(imported.contradictions.join(";").contains(expected), "{:?}", imported.contradictions);
        }
        let error = import_text(&(SAMPLES.to_owned() + &closing(3, 14, 20).replace("Max: 20", "Max: 2,0")));
        assert!(error.unwrap_err().to_string().contains("line 4, Max: '2,0'"));
    }
}
