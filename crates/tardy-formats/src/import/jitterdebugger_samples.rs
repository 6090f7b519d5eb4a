//! jitterdebugger's samples.raw: packed records of 28 bytes, little-endian.
//!
//! u32 thread, i64 seconds, i64 nanoseconds (CLOCK_MONOTONIC of the wake-up), u64 latency in us or ns. Only
//! results.json states the unit. Old 32-bit machines wrote shorter records, which are not supported. jitterdebugger
//! does not write the content of its last ring buffer when it ends.

use std::io::Read;

use tardy_record::foreign::LatePeriods;
use tardy_record::series_builder::Reading;

use super::samples::{self, Threads};
use super::{ImportOptions, jitterdebugger};
use crate::error::{ImportError, Result};
use crate::imported::{Imported, ImportedPhase, Readings, Stream, Unit};

/// Bytes of a record.
pub(crate) const RECORD: usize = 28;
const THREAD_MAX: usize = 4096;
/// The longest uptime, ten years.
const SPAN_NS_MAX: i64 = 10 * 366 * 86_400 * 1_000_000_000;

struct Record {
    thread: u32,
    at_ns: Option<i64>,
    value: u64,
}

#[inline(always)]
fn record(bytes: &[u8; RECORD]) -> Record {
    let word = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
    let (seconds, nanoseconds) = (word(4), word(12));
    let sound =
        (0..1_000_000_000).contains(&nanoseconds) && (0..SPAN_NS_MAX / 1_000_000_000).contains(&seconds);
    Record {
        thread: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        // The monotonic clock is never 0 while a program runs, so a time of 0 is a hole in the file.
        at_ns: sound.then(|| seconds * 1_000_000_000 + nanoseconds).filter(|at_ns| *at_ns > 0),
        value: word(20) as u64,
    }
}

/// Whether bytes look like records: their times are valid and do not go back within a thread, and threads are few.
pub(crate) fn recognises(head: &[u8]) -> bool {
    let (records, _) = head.as_chunks::<RECORD>();
    let mut last = std::collections::BTreeMap::new();
    let sound = |bytes: &[u8; RECORD]| {
        let one = record(bytes);
        let Some(at_ns) = one.at_ns else { return false };
        let forward = last.insert(one.thread, at_ns).is_none_or(|before| before <= at_ns);
        forward && (one.thread as usize) < THREAD_MAX && one.value < 1 << 44
    };
    records.len() >= 2 && records.iter().take(500).all(sound)
}

/// Imports samples.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let unit = options.unit.ok_or(ImportError::UnitUnknown { format: "jitterdebugger's samples.raw" })?;
    let mut file = Samples { unit, first_ns: 0, threads: Vec::new(), count: 0 };
    let left = file.read(reader)?;
    let mut imported = Imported {
        tool: "jitterdebugger".to_owned(),
        measures: jitterdebugger::MEASURES,
        late_periods: LatePeriods::MadeUp,
        wake: Some(jitterdebugger::WAKE),
        cut_short: left > 0,
        has_no_end: true,
        ..Imported::default()
    };
    imported.used.unit = true;
    imported.remarks.push(
        "a few samples are missing at the end: jitterdebugger does not write its last ring buffer".to_owned(),
    );
    if left > 0 {
        imported.remarks.push(format!("the last {left} bytes are not a whole record"));
    }
    let mut phase = ImportedPhase { label: "jitterdebugger".to_owned(), streams: Vec::new() };
    for (thread, builder) in file.threads.iter().enumerate() {
        let Some((builder, _)) = builder else { continue };
        let series = Box::new(samples::series(builder, unit));
        imported.duration_ns = imported.duration_ns.max(Some(series.counted_ns));
        phase.streams.push(Stream::of_thread(thread as u32, Readings::Samples(series)));
    }
    imported.phases.push(phase);
    Ok(imported)
}

struct Samples {
    unit: Unit,
    first_ns: i64,
    /// For each thread, the readings and the time of its last record.
    threads: Threads<i64>,
    count: u64,
}

impl Samples {
    /// Reads to the end. Returns the number of bytes left over.
    fn read(&mut self, reader: &mut dyn Read) -> Result<usize> {
        let rest = samples::read_blocks(reader, RECORD * 32 * 1024, |block| {
            let (records, rest) = block.as_chunks::<RECORD>();
            for bytes in records {
                self.record(record(bytes))?;
            }
            Ok(block.len() - rest.len())
        })?;
        Ok(rest.len())
    }

    #[inline]
    fn record(&mut self, one: Record) -> Result<()> {
        self.count += 1;
        let place = |field: &str| format!("record {}, {field}", self.count);
        let Some(at_ns) = one.at_ns else {
            let reason = "it is not a time; the file is damaged, has a hole or is from an old 32-bit machine";
            return Err(ImportError::field(place("time"), reason));
        };
        if self.count == 1 {
            self.first_ns = at_ns;
        }
        if one.value >= 1 << 44 {
            return Err(ImportError::field(place("value"), "it is longer than a measurement can be"));
        }
        let thread = one.thread as usize;
        if !matches!(self.threads.get(thread), Some(Some(_))) {
            if thread >= THREAD_MAX {
                return Err(ImportError::field(place("thread"), "it is not a thread number"));
            }
            samples::begin(&mut self.threads, thread, self.unit, at_ns);
        }
        let Some(Some((builder, last_ns))) = self.threads.get_mut(thread) else { return Ok(()) };
        if at_ns < *last_ns {
            let reason = format!(
                "thread {thread} goes back by {} ns; a second measurement begins here; split the file and import each part",
                *last_ns - at_ns
            );
            return Err(ImportError::field(format!("record {}, time", self.count), reason));
        }
        *last_ns = at_ns;
        let value_ns = one.value as i64 * self.unit.ns();
        let at_ns = at_ns.saturating_sub(self.first_ns).max(0) as u64;
        let cycle = builder.recorded();
        builder.record(Reading { value_ns, at_ns, cycle, missed: 0 });
        Ok(())
    }
}
