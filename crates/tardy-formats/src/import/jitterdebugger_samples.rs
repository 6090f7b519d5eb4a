//! jitterdebugger's samples.raw: packed records of 28 bytes, little-endian.
//!
//! u32 thread, i64 seconds, i64 nanoseconds (CLOCK_MONOTONIC of the wake-up), u64 latency in us or ns, as only results.json
//! beside it tells. A 32-bit machine of old wrote shorter ones, which are not read. What was in the last ring when
//! jitterdebugger ended is not in the file.

use std::io::Read;

use tardy_record::foreign::{ForeignSeries, LatePeriods};
use tardy_record::series::{Level, Quantity, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_record::{Knowable, Series};

use super::{ImportOptions, jitterdebugger};
use crate::error::{ImportError, Result};
use crate::imported::{Imported, ImportedPhase, Readings, Stream, Unit};
use crate::read_more::read_more;

/// Bytes of a record.
pub(crate) const RECORD: usize = 28;
const THREAD_MAX: usize = 4096;
/// Ten years: a clock that counts from the machine's start does not come further.
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
        // A clock that counts from the machine's start is never at 0 when a program runs: that is a hole in a file.
        at_ns: sound.then(|| seconds * 1_000_000_000 + nanoseconds).filter(|at_ns| *at_ns > 0),
        value: word(20) as u64,
    }
}

/// Whether bytes look like records: sound times that do not go back within each thread, and threads that are few.
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
    let mut samples = Samples { unit, first_ns: 0, threads: Vec::new(), count: 0 };
    let left = samples.read(reader)?;
    let mut imported = Imported {
        tool: "jitterdebugger".to_owned(),
        measures: jitterdebugger::MEASURES,
        late_periods: LatePeriods::MadeUp,
        wake: Some(jitterdebugger::WAKE),
        cut_short: left > 0,
        ..Imported::default()
    };
    imported.used.unit = true;
    imported.remarks.push(
        "what was in jitterdebugger's last ring when it ended is not in its file: a few samples are missing at the end"
            .to_owned(),
    );
    if left > 0 {
        imported.remarks.push(format!("the last {left} bytes are no whole record"));
    }
    let mut phase = ImportedPhase { label: "jitterdebugger".to_owned(), streams: Vec::new() };
    for (thread, builder) in samples.threads.iter().enumerate() {
        let Some((builder, _)) = builder else { continue };
        let series = Box::new(series(builder, unit));
        imported.duration_ns = imported.duration_ns.max(Some(series.counted_ns));
        phase.streams.push(Stream::of_thread(thread as u32, Readings::Samples(series)));
    }
    imported.phases.push(phase);
    Ok(imported)
}

fn series(builder: &SeriesBuilder, unit: Unit) -> Series {
    let kind = ForeignSeries { resolution_ns: unit.ns() as u64, ..ForeignSeries::default() };
    let kind = SeriesKind::Foreign(Box::new(kind));
    let mut series = builder.series(String::new(), 0, Quantity::Latency, Level::UserThread, kind);
    // The end of the last ring was dropped, and nobody says how much that was.
    series.tally.dropped = Knowable::Unknown;
    series.tally.attempted = Knowable::Unknown;
    series
}

struct Samples {
    unit: Unit,
    first_ns: i64,
    /// Of each thread what was recorded, and the time of its last record.
    threads: Vec<Option<(SeriesBuilder, i64)>>,
    count: u64,
}

impl Samples {
    /// Reads to the end; how many bytes were left over.
    fn read(&mut self, reader: &mut dyn Read) -> Result<usize> {
        let mut buffer = vec![0u8; RECORD * 32 * 1024];
        let mut kept = 0;
        loop {
            let count = read_more(reader, &mut buffer[kept..])?;
            let end = kept + count;
            if count == 0 {
                return Ok(kept);
            }
            let (records, rest) = buffer[..end].as_chunks::<RECORD>();
            for bytes in records {
                self.record(record(bytes))?;
            }
            kept = rest.len();
            buffer.copy_within(end - kept..end, 0);
        }
    }

    #[inline]
    fn record(&mut self, one: Record) -> Result<()> {
        self.count += 1;
        let place = |field: &str| format!("record {}, {field}", self.count);
        let Some(at_ns) = one.at_ns else {
            let reason =
                "is no time: the file is damaged or has a hole, or was made by a 32-bit machine of old";
            return Err(ImportError::field(place("time"), reason));
        };
        if self.count == 1 {
            self.first_ns = at_ns;
        }
        if one.value >= 1 << 44 {
            return Err(ImportError::field(place("value"), "is longer than any measurement"));
        }
        let thread = one.thread as usize;
        if !matches!(self.threads.get(thread), Some(Some(_))) {
            if thread >= THREAD_MAX {
                return Err(ImportError::field(place("thread"), "is no thread's number"));
            }
            if self.threads.len() <= thread {
                self.threads.resize_with(thread + 1, || None);
            }
            let builder = SeriesBuilder::new(0, None, 0, &[]).of_unit(self.unit.ns() as u32);
            self.threads[thread] = Some((builder, at_ns));
        }
        let Some(Some((builder, last_ns))) = self.threads.get_mut(thread) else { return Ok(()) };
        if at_ns < *last_ns {
            let reason = format!(
                "thread {thread} goes back by {} ns: that is another measurement; split the file, and import each",
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
