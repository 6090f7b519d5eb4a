//! jitterdebugger's results.json.
//!
//! The key `cpu` names threads, not CPUs. Samples beyond the histogram (1000 us, or 1 ms in ns) are counted in `count` but in
//! no bin; the difference is their number. For each missed period it records another late wake-up.

use std::io::Read;

use tardy_record::Knowable;
use tardy_record::foreign::LatePeriods;
use tardy_record::plan::Wake;

use super::{ImportOptions, json_threads};
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, System, Unit, in_ns};
use tardy_unpack::json::{self, Object};

pub(crate) const MEASURES: &str = "from a timer's deadline to the thread that waited for it";
/// jitterdebugger's only way to wait (worker() in jitterdebugger.c).
pub(crate) const WAKE: Knowable<Wake> = Knowable::Known(Wake::ClockNanosleep);
/// Where jitterdebugger's histograms end, in ns.
const REACH_NS: i64 = 1_000_000;

/// Imports results.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let mut root = json::parse(reader)?;
    // Versions before 0.2 have no `sysinfo`, and people remove it.
    let sysinfo = root.object("sysinfo")?;
    let unit = match (&sysinfo, options.unit) {
        (Some(sysinfo), _) => unit(sysinfo)?,
        (None, Some(unit)) => unit,
        (None, None) => {
            return Err(ImportError::UnitUnknown { format: "jitterdebugger's results.json without sysinfo" });
        }
    };
    let text = |key: &str| sysinfo.as_ref()?.text(key).map(str::to_owned);
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
    imported.used.unit = sysinfo.is_none();
    let threads = root.object("cpu")?;
    let threads = json_threads::numbered(root.required("cpu", threads)?, "cpu")?;
    let streams = threads.into_iter().map(|(number, thread)| stream(number, thread, unit));
    let streams = streams.collect::<Result<_>>()?;
    imported.phases.push(ImportedPhase { label: "jitterdebugger".to_owned(), streams });
    Ok(imported)
}

/// The unit in `sysinfo`.
pub(crate) fn unit(sysinfo: &Object) -> Result<Unit> {
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

fn stream(number: u32, mut thread: Object, unit: Unit) -> Result<Stream> {
    let path = |key: &str| thread.path_of(key);
    let (histogram_path, extremes_path) = (path("histogram"), path("min, max"));
    let histogram = thread.object("histogram")?;
    let rows = thread.required("histogram", histogram)?.into_rows()?;
    let bins = json_threads::bins(rows, unit, &histogram_path)?;
    let value = |key: &str| -> Result<i64> {
        in_ns(thread.required(key, thread.whole(key)?)?, unit, &thread.path_of(key))
    };
    let count = thread.required("count", thread.count("count")?)?;
    let mut counts = Counts { bins, resolution_ns: unit.ns() as u64, ..Counts::default() };
    let in_bins = counts.total(&histogram_path)?;
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
    counts.check(&extremes_path)?;
    Ok(Stream::of_thread(number, Readings::Counts(Box::new(counts))))
}
