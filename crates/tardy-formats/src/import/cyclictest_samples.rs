//! cyclictest's individual samples (-v), one per line: `thread:cycle:value`.
//!
//! For speed, lines are parsed byte by byte in blocks and never copied. The cycle number counts
//! recorded wake-ups only, and their times are unknown: the series has no time axis. At the end, each thread has a line
//! with its count and extremes, which include cycles that were not printed.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::Read;

use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_record::units::counted;
use tardy_record::{Knowable, Series};

use super::cyclictest_line::{THREAD_MAX, ThreadLine};
use super::samples::{self, Threads};
use super::{ImportOptions, cyclictest_text};
use crate::counting_thread::{Counter, CountingThread};
use crate::error::{ImportError, Result};
use crate::imported::{Imported, ImportedPhase, Readings, Stream, Unit};
use crate::lines::{LINE_MAX, Line};

const BLOCK: usize = 1 << 20;

/// Imports samples.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let mut imported = cyclictest_text::without_readings();
    let known = cyclictest_text::from_command(options, &mut imported);
    let unit =
        cyclictest_text::unit(options, known.as_ref(), None, &mut imported, "cyclictest's list of samples")?;
    let mut file = Samples {
        cycles: Vec::new(),
        readings: CountingThread::new(Counts { unit, threads: Vec::new() }),
        closing: BTreeMap::new(),
        line: 0,
        cut_short: false,
    };
    file.read(reader)?;
    let mut threads = file.readings.finish().threads;
    imported.cut_short = file.cut_short;
    imported.has_no_end = file.closing.is_empty();
    imported.remarks.push(
        "samples have no times, so there is no plot over time; with cyclictest's -o, only the worst of \
         several samples is in the file"
            .to_owned(),
    );
    let mut phase = ImportedPhase { label: "cyclictest".to_owned(), streams: Vec::new() };
    for (thread, builder) in threads.iter_mut().enumerate() {
        let closing = file.closing.get(&thread).copied();
        let Some((builder, ())) = builder else { continue };
        let (listed, lost) = file.cycles[thread];
        let listed = listed + lost;
        let lost = lost + closing.map_or(0, |(_, closing)| closing.cycles.saturating_sub(listed));
        if lost > 0 {
            imported.remarks.push(format!(
                "thread {thread}: no line for {}; cyclictest's buffer overran, or they were not printed",
                counted(lost, "cycle", "cycles")
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
    let has_samples = |thread: &usize| file.cycles.get(*thread).is_some_and(|(listed, _)| *listed > 0);
    for (thread, (line, closing)) in &file.closing {
        if closing.cycles > 0 && !has_samples(thread) {
            imported.contradictions.push(format!(
                "line {line}, C, thread {thread}: it is {}, but the file has no sample of the thread",
                closing.cycles
            ));
        }
    }
    if phase.streams.is_empty() {
        return Err(ImportError::field("the file", "it contains no sample"));
    }
    imported.phases.push(phase);
    Ok(imported)
}

/// A contradiction between a thread's closing line and its samples, of which `lost` are known to be missing.
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
    Some(format!("line {line}, {name}, thread {thread}: it is {said}, but the file has {known}"))
}

/// Adds the extremes of a thread's closing line as readings if they are beyond those of the samples: they belong to the
/// `lost` cycles, which have no line. The longest comes first, since one lost cycle can be only one of them. Returns a
/// remark.
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
    let mut added = Vec::new();
    for (name, value_ns) in longest.into_iter().chain(shortest).take(usize::try_from(lost).unwrap_or(2)) {
        let cycle = samples.recorded();
        samples.record(Reading { value_ns, at_ns: 0, cycle, missed: 0 });
        added.push(format!("the {name}, {} us", value_ns as f64 / 1000.0));
    }
    let thread = closing.thread;
    let which = added.join(" and ");
    (!added.is_empty()).then(|| {
        format!("thread {thread}: extremes of cycles without a line come from the closing line, counted once: {which}")
    })
}

/// The series of a builder without times.
fn untimed(builder: &SeriesBuilder, unit: Unit) -> Series {
    let mut series = samples::series(builder, unit);
    (series.counted_ns, series.max_at_ns) = (0, None);
    series.slices.clear();
    series.worst.clear();
    series.block_maxima.maxima_ns.clear();
    series.tally.missed = Knowable::Unknown;
    series
}

struct Samples {
    /// For each thread, how many cycles have a line, and how many have none.
    cycles: Vec<(u64, u64)>,
    readings: CountingThread<Counts>,
    /// The last closing line of each thread, with its line number.
    closing: BTreeMap<usize, (u64, ThreadLine)>,
    line: u64,
    cut_short: bool,
}

impl Samples {
    fn read(&mut self, reader: &mut dyn Read) -> Result<()> {
        let rest = samples::read_blocks(reader, BLOCK + LINE_MAX, |block| {
            let used = self.take_lines(block)?;
            if block.len() - used >= LINE_MAX {
                let reason = format!("it is longer than {LINE_MAX} bytes, the limit for a line");
                return Err(ImportError::line(self.line + 1, "whole line", reason));
            }
            Ok(used)
        })?;
        // A last line without an end may lack digits.
        self.cut_short = !rest.iter().all(u8::is_ascii_whitespace);
        Ok(())
    }

    /// Reads the whole lines of `block`. Returns their length in bytes.
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
        if thread >= self.cycles.len() {
            if thread >= THREAD_MAX {
                let reason = format!("{thread} is not a thread number");
                return Err(ImportError::line(self.line, "thread", reason));
            }
            self.cycles.resize(thread + 1, (0, 0));
        }
        let (listed, lost) = &mut self.cycles[thread];
        let expected = *listed + *lost;
        match sample.cycle.cmp(&expected) {
            Ordering::Equal => {}
            Ordering::Greater => *lost += sample.cycle - expected,
            Ordering::Less => return Err(goes_back(self.line, &sample, expected)),
        }
        *listed += 1;
        self.readings.count(sample);
        Ok(())
    }

    /// Reads a line that is not a sample. Headers are skipped, damaged lines are errors.
    fn other_line(&mut self, line: &[u8]) -> Result<()> {
        let text = String::from_utf8_lossy(line);
        let text = cyclictest_text::without_cursor_codes(&text);
        let text = text.trim();
        // A line of --spike repeats a sample.
        if text.starts_with("T:") && text.contains(" Spike:") {
            return Ok(());
        }
        if text.starts_with("T:") {
            let read = Line { number: self.line, text, cut: line.len() > LINE_MAX, unended: false };
            let read = ThreadLine::read(read, text)?;
            return match self.closing.insert(read.thread as usize, (self.line, read)) {
                Some((_, before)) => read.check_follows(&before, self.line),
                None => Ok(()),
            };
        }
        let known = ["Max CPUs", "Online CPUs", "Using ", "#", "Thread ", "policy:", "spikes = ", "WARN"];
        if text.is_empty() || known.iter().any(|start| text.starts_with(start)) {
            return Ok(());
        }
        let shown: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
        Err(ImportError::line(
            self.line,
            "whole line",
            format!("'{shown}' is not a sample; expected thread:cycle:value"),
        ))
    }
}

#[cold]
fn goes_back(line: u64, sample: &Sample, expected: u64) -> ImportError {
    let reason = format!(
        "thread {} goes back to {}, expected at least {expected}; a second measurement begins here; split \
         the file and import each part",
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

/// The readings of each thread.
struct Counts {
    unit: Unit,
    threads: Threads<()>,
}

impl Counter for Counts {
    type Item = Sample;

    #[inline]
    fn count(&mut self, sample: Sample) {
        let thread = sample.thread as usize;
        if !matches!(self.threads.get(thread), Some(Some(_))) {
            samples::begin(&mut self.threads, thread, self.unit, ());
        }
        if let Some(Some((builder, ()))) = self.threads.get_mut(thread) {
            let value_ns = sample.value.saturating_mul(self.unit.ns());
            builder.record(Reading { value_ns, at_ns: 0, cycle: sample.cycle, missed: 0 });
        }
    }
}

/// The sample in the first line of `bytes` and the length of that line. `None` if it is not a sample or has no end.
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
    // With --smi, the number of SMIs follows.
    if bytes.get(at) == Some(&b' ') {
        (_, at) = digits(bytes, at, 15)?;
    }
    if bytes.get(at) == Some(&b'\r') {
        at += 1;
    }
    if bytes.get(at) != Some(&b'\n') {
        return None;
    }
    let value = if negative { -(value as i64) } else { value as i64 };
    Some((Sample { thread: thread as u32, cycle, value }, at + 1))
}

/// A number of at most `most` digits after blanks, and where it ends.
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
            let added = imported.remarks.iter().any(|remark| remark.contains("the longest, 900 us"));
            assert_eq!(added, max == 900, "{:?}", imported.remarks);
        }
    }

    #[test]
    fn a_closing_line_that_contradicts_its_samples_is_reported() {
        for (line, expected) in [
            (closing(3, 14, 900), "line 4, Max, thread 0: it is 900, but the file has a maximum of 20"),
            (closing(3, 1, 20), "line 4, Min, thread 0: it is 1, but the file has a minimum of 14"),
            (closing(2, 14, 20), "line 4, C, thread 0: it is 2, but the file has 3 samples"),
            (closing(9, 14, 19), "line 4, Max, thread 0: it is 19"),
            (closing(9, 15, 20), "line 4, Min, thread 0: it is 15"),
            (
                closing(3, 14, 20) + &closing(9, 14, 20).replace("T: 0", "T: 1"),
                "line 5, C, thread 1: it is 9",
            ),
        ] {
            let imported = import_text(&(SAMPLES.to_owned() + &line)).unwrap();
            assert!(imported.contradictions.join(";").contains(expected), "{:?}", imported.contradictions);
        }
        let error = import_text(&(SAMPLES.to_owned() + &closing(3, 14, 20).replace("Max: 20", "Max: 2,0")));
        assert!(error.unwrap_err().to_string().contains("line 4, Max: '2,0'"));
    }

    /// What rt-tests 2.4 prints with `-a 1 -v --smi --spike=14`.
    #[test]
    fn lines_about_cpus_smis_and_spikes_are_read() {
        let text = "Max CPUs = 2\nOnline CPUs = 2\nUsing 1 cpus.\n# /dev/cpu_dma_latency set to 0us\nThread 0 using cpu 1.\n\
                    Thread 0 Interval: 1500\n       0:       0:      15       0\n       0:       1:      14       1\n\
                    \nT: 0 Spike:      15: TS:  67068237308\nspikes = 1\n\n";
        let imported = import_text(text).unwrap();
        let Readings::Samples(series) = &imported.phases[0].streams[0].readings else { panic!("samples") };
        assert_eq!((series.tally.recorded, series.max_ns), (2, Some(15_000)));
        assert!(import_text("       0:       0:      15 x\n").is_err());
    }
}
