//! hwlatdetect's text: its parameters and a line for each sample over the threshold.

use std::collections::BTreeMap;
use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;
use tardy_record::series::{Level, Quantity};

use super::{ImportOptions, decimal_ns, number};
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, Unit, in_ns};
use crate::lines::Lines;

/// Imports the text.
pub(crate) fn import(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let mut imported = Imported {
        tool: "hwlatdetect".to_owned(),
        measures: "how long a kernel loop with interrupts off was stopped",
        late_periods: LatePeriods::NoSchedule,
        ..Imported::default()
    };
    let mut values: BTreeMap<Option<u32>, BTreeMap<i64, u64>> = BTreeMap::new();
    let (mut recorded, mut listed, mut stated_max) = (None, 0u64, None);
    let (mut threshold_us, mut gaps) = (0, 0u64);
    let mut interval_ns = None;
    let mut last_ns: BTreeMap<Option<u32>, i64> = BTreeMap::new();
    let mut begun = None;
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line()? {
        let text = line.whole()?.trim();
        imported.cut_short = line.unended;
        let us = |rest: &str, field: &str| number(rest.trim().trim_end_matches("us"), line.number, field);
        if let Some(rest) = text.strip_prefix("hwlatdetect:") {
            if let Some(begun) = begun.replace(line.number) {
                let reason =
                    format!("a measurement began in line {begun}; split the file and import each part");
                return Err(ImportError::line(line.number, "hwlatdetect", reason));
            }
            let seconds = rest.split_whitespace().find_map(|word| word.parse::<u64>().ok());
            imported.duration_ns = seconds.and_then(|seconds| seconds.checked_mul(1_000_000_000));
        } else if let Some(rest) = text.strip_prefix("Latency threshold:") {
            threshold_us = us(rest, "threshold")?;
            imported.remarks.push(format!("noise shorter than {threshold_us}us is not recorded"));
        } else if let Some(rest) = text.strip_prefix("Sample window:") {
            interval_ns = us(rest, "window")?.checked_mul(1000).filter(|ns| *ns > 0);
        } else if let Some(rest) = text.strip_prefix("Samples recorded:") {
            recorded = Some((line.number, number(rest.trim(), line.number, "Samples recorded")?));
        } else if let Some(rest) = text.strip_prefix("Max Latency:") {
            stated_max = rest
                .trim()
                .strip_suffix("us")
                .and_then(|us| us.trim().parse::<i64>().ok())
                .map(|us| (line.number, us));
        } else if text.starts_with("ts:") && !line.unended {
            let mut fields = BTreeMap::new();
            for part in text.split(',') {
                if let Some((key, value)) = part.split_once(':') {
                    fields.insert(key.trim(), value.trim());
                }
            }
            let of = |key: &str| match fields.get(key) {
                Some(word) => number(word, line.number, key).map(|us| i64::try_from(us).unwrap_or(i64::MAX)),
                None => Ok(0),
            };
            let longest = of("inner")?.max(of("outer")?);
            let cpu = fields.get("cpu").and_then(|cpu| cpu.parse().ok());
            let value = in_ns(longest, Unit::Us, &format!("line {}, inner and outer", line.number))?;
            if let Some(time) = fields.get("ts") {
                let time_ns = decimal_ns(time, 1_000_000_000, line.number, "ts")?;
                if last_ns.insert(cpu, time_ns).is_some_and(|before_ns| time_ns <= before_ns) {
                    let reason = "a CPU's time does not ascend; a sample appears twice, or a second measurement begins \
                                  here; split the file";
                    return Err(ImportError::line(line.number, "ts", reason));
                }
            }
            *values.entry(cpu).or_default().entry(value).or_default() += 1;
            listed += 1;
            gaps = gaps.saturating_add(of("count")?.max(1) as u64);
            if values.values().map(BTreeMap::len).sum::<usize>() > 1_000_000 {
                return Err(ImportError::TooMuch("more than a million different samples".to_owned()));
            }
        }
    }
    imported.last_line = Some(lines.read_lines());
    compare_counts(recorded, listed, &mut imported);
    if gaps > listed {
        imported.remarks.push(format!(
            "{gaps} gaps were over the threshold; only the longest of each sample has a length"
        ));
    }
    if values.is_empty() {
        let unlisted = recorded.map_or(0, |(_, recorded)| recorded);
        if let (Some((line, max_us)), true) = (stated_max, unlisted > 0) {
            imported.phases.push(only_extremes(unlisted, threshold_us, max_us, line, interval_ns)?);
            imported.remarks.push(
                "the samples are in the file of --report; this file has their count and the longest, and none was \
                 shorter than the threshold"
                    .to_owned(),
            );
            return Ok(imported);
        }
        values.insert(None, BTreeMap::new());
    }
    let highest = values.values().filter_map(|values| values.keys().next_back()).max();
    if let (Some((line, us)), Some(highest)) = (stated_max, highest)
        && us.saturating_mul(1000) != *highest
    {
        imported.contradictions.push(format!(
            "line {line}, Max Latency: it is {us} us, but the longest sample has {} us",
            highest / 1000
        ));
    }
    // The text has a total. The file of --report has none.
    let is_complete = if begun.is_some() {
        recorded.is_some_and(|(_, count)| count == listed)
    } else {
        !imported.cut_short
    };
    imported.has_no_end = begun.is_none();
    let streams =
        values.into_iter().map(|(cpu, values)| stream(cpu, &values, interval_ns, is_complete)).collect();
    imported.phases.push(ImportedPhase { label: "hwlatdetect".to_owned(), streams });
    Ok(imported)
}

/// The samples of one CPU; `is_complete` if all that were recorded are listed.
fn stream(
    cpu: Option<u32>,
    values: &BTreeMap<i64, u64>,
    interval_ns: Option<u64>,
    is_complete: bool,
) -> Stream {
    let bins: Vec<Bin> =
        values.iter().map(|(ns, count)| Bin { lower_ns: *ns, upper_ns: ns + 1000, count: *count }).collect();
    let counts = Counts {
        min_ns: values.keys().next().copied(),
        max_ns: values.keys().next_back().copied(),
        bins,
        resolution_ns: 1000,
        max_is_stated: is_complete,
        max_at_least: !is_complete,
        ..Counts::default()
    };
    let mut stream = Stream::of_thread(0, Readings::Counts(Box::new(counts)));
    (stream.cpu, stream.quantity, stream.level) = (cpu, Quantity::Noise, Level::Irq);
    stream.interval_ns = interval_ns;
    stream.label = cpu.is_none().then(|| "all CPUs in turn".to_owned());
    stream
}

/// Compares the number of recorded samples (with its line) with the number of listed ones. Adds a contradiction or a
/// remark.
fn compare_counts(recorded: Option<(u64, u64)>, listed: u64, imported: &mut Imported) {
    match recorded {
        Some((line, recorded)) if recorded < listed => imported
            .contradictions
            .push(format!("line {line}, Samples recorded: it is {recorded}, but {listed} are listed")),
        Some((line, recorded)) if recorded > listed && listed > 0 => imported.remarks.push(format!(
            "line {line}: {recorded} samples were recorded, but {listed} are listed; only those are imported"
        )),
        _ => {}
    }
}

/// The phase for samples that are in a separate file. Its minimum is unknown: the threshold is a bound.
fn only_extremes(
    count: u64,
    threshold_us: u64,
    max_us: i64,
    line: u64,
    interval_ns: Option<u64>,
) -> Result<ImportedPhase> {
    let place = format!("line {line}, Max Latency");
    let threshold_us = i64::try_from(threshold_us).unwrap_or(i64::MAX);
    let (least_ns, max_ns) = (in_ns(threshold_us, Unit::Us, "threshold")?, in_ns(max_us, Unit::Us, &place)?);
    let counts = Counts {
        max_is_stated: true,
        min_ns: None,
        bins: vec![Bin { lower_ns: least_ns, upper_ns: i64::MAX, count }],
        ..Counts::extremes(count, least_ns, max_ns, 1000)
    };
    counts.check(&place)?;
    let mut stream = Stream::of_thread(0, Readings::Counts(Box::new(counts)));
    (stream.quantity, stream.level, stream.interval_ns) = (Quantity::Noise, Level::Irq, interval_ns);
    stream.label = Some("all CPUs in turn".to_owned());
    Ok(ImportedPhase { label: "hwlatdetect".to_owned(), streams: vec![stream] })
}
