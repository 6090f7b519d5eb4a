//! What the JSON of rt-tests and of jitterdebugger have in common: numbered threads with histograms.

use tardy_record::Bin;

use crate::error::{ImportError, Result};
use crate::imported::{Unit, in_ns};
use tardy_unpack::json::{Object, Rows};

/// The most threads of a file.
const THREAD_MAX: u32 = 4096;

/// The threads in `threads` with their numbers, in ascending order. `place` names them in an error.
pub(super) fn numbered(threads: Object, place: &str) -> Result<Vec<(u32, Object)>> {
    let mut numbered = Vec::new();
    for (key, thread) in threads.into_objects()? {
        let number = key.parse::<u32>().ok().filter(|number| *number < THREAD_MAX);
        let number = number
            .ok_or_else(|| ImportError::field(format!("{place}.{key}"), "it is not a thread number"))?;
        numbered.push((number, thread));
    }
    numbered.sort_by_key(|(number, _)| *number);
    match numbered.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(ImportError::field(place, format!("thread {} appears twice", pair[0].0))),
        None => Ok(numbered),
    }
}

/// The bins of rows whose keys are latencies in `unit`. `path` names the histogram in an error.
pub(super) fn bins(rows: Rows, unit: Unit, path: &str) -> Result<Vec<Bin>> {
    if let Some(key) = rows.first_fraction() {
        let reason = format!("'{key}' is not a whole number of {}", unit.name());
        return Err(ImportError::field(format!("{path}.{key}"), reason));
    }
    if let Some(key) = rows.highest() {
        in_ns(key.thousandths / 1000, unit, &format!("{path}.{key}"))?;
    }
    Ok(rows.into_bins(|thousandths, count| {
        let lower_ns = thousandths / 1000 * unit.ns();
        Bin { lower_ns, upper_ns: lower_ns + unit.ns(), count }
    }))
}
