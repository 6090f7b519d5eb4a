//! jitterdebugger's results.json.
//!
//! The key `cpu` names threads, not CPUs. Samples beyond the histogram (1000 us, or 1 ms in ns) are counted in `count` but
//! in no bin; the difference is their number. Each missed period is made up for by another late wake-up.

use std::io::Read;

use tardy_record::foreign::LatePeriods;
use tardy_record::plan::Wake;
use tardy_record::{Bin, Knowable};

use super::ImportOptions;
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, System, Unit, in_ns};
use crate::json::{self, Object};

pub(crate) const MEASURES: &str = "from a timer's deadline to the thread that waited for it";
/// jitterdebugger's only way to wait (worker() in jitterdebugger.c).
pub(crate) const WAKE: Knowable<Wake> = Knowable::Known(Wake::ClockNanosleep);
/// Where jitterdebugger's histograms end, in ns.
const REACH_NS: i64 = 1_000_000;

/// Imports results.
pub(crate) fn import(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let document = json::parse(&json::whole(reader)?)?;
    let root = Object::root(&document)?;
    let sysinfo = root.required("sysinfo", root.object("sysinfo")?)?;
    let unit = unit(&sysinfo)?;
    let text = |key: &str| sysinfo.text(key).map(str::to_owned);
    let mut imported = Imported {
        tool: "jitterdebugger".to_owned(),
        measures: MEASURES,
        late_periods: LatePeriods::MadeUp,
        wake: Some(WAKE),
        system: System {
            host: text("nodename"),
            release: text("release"),
            version: text("version"),
            machine: text("machine"),
            ..System::default()
        },
        ..Imported::default()
    };
    let threads = root.required("cpu", root.object("cpu")?)?;
    let mut streams = Vec::new();
    for key in threads.keys() {
        let number = key.parse::<u32>().ok().filter(|number| *number < 4096);
        let number =
            number.ok_or_else(|| ImportError::field(threads.path_of(key), "it is not a thread number"))?;
        let thread = threads.required(key, threads.object(key)?)?;
        streams.push(stream(number, &thread, unit)?);
    }
    streams.sort_by_key(|stream| stream.thread);
    if let Some(pair) = streams.windows(2).find(|pair| pair[0].thread == pair[1].thread) {
        return Err(ImportError::field("cpu", format!("thread {} appears twice", pair[0].thread)));
    }
    imported.phases.push(ImportedPhase { label: "jitterdebugger".to_owned(), streams });
    Ok(imported)
}

/// The unit in `sysinfo`.
pub(crate) fn unit(sysinfo: &Object<'_>) -> Result<Unit> {
    match sysinfo.count("resolution_in_ns")? {
        Some(1000) => Ok(Unit::Us),
        Some(1) => Ok(Unit::Ns),
        Some(other) => {
            Err(ImportError::field("sysinfo.resolution_in_ns", format!("{other} is neither 1000 nor 1")))
        }
        None => {
            Err(ImportError::field("sysinfo.resolution_in_ns", "is missing; the unit, us or ns, is unknown"))
        }
    }
}

fn stream(number: u32, thread: &Object<'_>, unit: Unit) -> Result<Stream> {
    let histogram = thread.required("histogram", thread.object("histogram")?)?;
    let mut bins = Vec::new();
    for key in histogram.keys() {
        let place = histogram.path_of(key);
        let value = key.parse::<i64>().ok().filter(|value| *value >= 0);
        let value = value.ok_or_else(|| ImportError::field(&place, "it is not a latency"))?;
        let lower_ns = in_ns(value, unit, &place)?;
        let count = histogram.required(key, histogram.count(key)?)?;
        if count > 0 {
            bins.push(Bin { lower_ns, upper_ns: lower_ns + unit.ns(), count });
        }
    }
    bins.sort_by_key(|bin| bin.lower_ns);
    let value = |key: &str| -> Result<i64> {
        in_ns(thread.required(key, thread.whole(key)?)?, unit, &thread.path_of(key))
    };
    let count = thread.required("count", thread.count("count")?)?;
    let mut counts = Counts { bins, resolution_ns: unit.ns() as u64, ..Counts::default() };
    let in_bins = counts.total(&thread.path_of("histogram"))?;
    match count.checked_sub(in_bins) {
        Some(beyond) => counts.add_overflows(REACH_NS, beyond),
        None => {
            let reason = format!("it is {count}, but the histogram holds {in_bins}");
            return Err(ImportError::field(thread.path_of("count"), reason));
        }
    }
    if !counts.bins.is_empty() {
        (counts.min_ns, counts.max_ns) = (Some(value("min")?), Some(value("max")?));
    }
    let factor = unit.ns() as f64;
    counts.mean_ns = thread.number("avg")?.map(|mean| mean * factor);
    (counts.missed, counts.dropped) = (Some(0), Some(0));
    counts.check(&thread.path_of("min, max"))?;
    Ok(Stream::of_thread(number, Readings::Counts(Box::new(counts))))
}
