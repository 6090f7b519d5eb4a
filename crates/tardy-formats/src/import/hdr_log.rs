//! HdrHistogram's interval log, version 2: a line for each stretch of time, with a tag for each stream.
//!
//! The log does not say what its numbers are; nanoseconds are usual. A log of tardy's says it in comments, with the exact
//! extremes, which the encoding itself rounds.

use std::collections::BTreeMap;
use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;

use super::{ImportOptions, decimal_ns};
use crate::error::{ImportError, Result};
use crate::export::hdr_log::{SERIES_MARK, unescaped};
use crate::hdr;
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, Unit};
use crate::json;
use crate::lines::Lines;

const TAG_MAX: usize = 4096;

#[derive(Default)]
struct Tagged {
    line: u64,
    bins: BTreeMap<(i64, i64), u64>,
    exact: Option<(i64, i64)>,
}

/// Imports a log.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let mut imported = Imported {
        tool: "HdrHistogram".to_owned(),
        measures: "what the program that wrote the log recorded",
        late_periods: LatePeriods::Unknown,
        ..Imported::default()
    };
    let mut tags: BTreeMap<String, Tagged> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let (mut unit, mut seconds) = (options.unit, 0i64);
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line()? {
        let text = line.text.trim();
        if line.unended || text.is_empty() {
            imported.cut_short |= line.unended;
            continue;
        }
        if let Some(comment) = text.strip_prefix('#') {
            if let Some(words) = comment.strip_prefix(SERIES_MARK) {
                unit = Some(Unit::Ns);
                own_series(line.number, words, &mut tags, &mut order)?;
            } else if let Some(start) = comment.strip_prefix("[StartTime:") {
                let start = start.split_whitespace().next().unwrap_or("");
                imported.started = start.split('.').next().and_then(|start| start.parse().ok());
            }
            continue;
        }
        if text.starts_with('"') {
            continue;
        }
        let text = line.whole()?.trim();
        let mut parts: Vec<&str> = text.split(',').collect();
        let tag = parts.first().and_then(|part| part.strip_prefix("Tag=")).map(str::to_owned);
        if tag.is_some() {
            parts.remove(0);
        }
        let [_, length, _, histogram] = parts.as_slice() else {
            return Err(ImportError::line(
                line.number,
                "whole line",
                "has not the four columns of an interval",
            ));
        };
        let factor = unit.ok_or(ImportError::UnitUnknown { format: "an HdrHistogram log" }).map(Unit::ns)?;
        let length_ns = decimal_ns(length.trim(), 1_000_000_000, line.number, "Interval_Length")?;
        seconds = seconds.saturating_add(length_ns.max(0));
        let tag = tag.unwrap_or_else(|| "all".to_owned());
        if !tags.contains_key(&tag) {
            order.push(tag.clone());
        }
        if tags.len() >= TAG_MAX {
            return Err(ImportError::TooMuch(format!("more than {TAG_MAX} tags")));
        }
        let into = tags.entry(tag).or_insert_with(|| Tagged { line: line.number, ..Tagged::default() });
        let place = format!("line {}, Interval_Compressed_Histogram", line.number);
        for (lower, upper, count) in hdr::decode(histogram.trim(), &place)? {
            let ns = |value: u64| i64::try_from(value).ok().and_then(|value| value.checked_mul(factor));
            let (Some(lower), Some(upper)) = (ns(lower), ns(upper)) else {
                return Err(ImportError::field(place, "has values longer than any measurement"));
            };
            let sum = into.bins.entry((lower, upper)).or_default();
            *sum = sum
                .checked_add(count)
                .ok_or_else(|| ImportError::field(&place, "counts add up to more than 2^64"))?;
        }
        imported.used.unit |= options.unit.is_some() && into.exact.is_none();
    }
    imported.last_line = Some(lines.read_lines());
    let mut streams = Vec::new();
    for (number, tag) in order.iter().enumerate() {
        let Some(tagged) = tags.remove(tag) else { continue };
        streams.push(stream(number as u32, tag, tagged)?);
    }
    if streams.is_empty() {
        return Err(ImportError::field("the log", "there is no interval in it"));
    }
    if streams.len() == 1 {
        imported.duration_ns = u64::try_from(seconds).ok().filter(|ns| *ns > 0);
    }
    imported.phases.push(ImportedPhase { label: "HdrHistogram".to_owned(), streams });
    Ok(imported)
}

/// What tardy wrote of a series: its tag, and its exact extremes.
fn own_series(
    line: u64,
    words: &str,
    tags: &mut BTreeMap<String, Tagged>,
    order: &mut Vec<String>,
) -> Result<()> {
    let document = json::parse(words.trim().trim_end_matches(']').as_bytes())?;
    let object = json::Object::root(&document)?;
    let tag = object.required("tag", object.text("tag"))?.to_owned();
    let exact = object.whole("min_ns")?.zip(object.whole("max_ns")?);
    if !tags.contains_key(&tag) {
        order.push(tag.clone());
    }
    if tags.len() >= TAG_MAX {
        return Err(ImportError::TooMuch(format!("more than {TAG_MAX} tags")));
    }
    let into = tags.entry(tag).or_default();
    (into.line, into.exact) = (line, exact);
    Ok(())
}

fn stream(number: u32, tag: &str, tagged: Tagged) -> Result<Stream> {
    let label = unescaped(tag);
    let place = format!("line {}, tag {label}", tagged.line);
    let bins: Vec<Bin> = tagged
        .bins
        .into_iter()
        .map(|((lower_ns, upper_ns), count)| Bin { lower_ns, upper_ns, count })
        .collect();
    let mut counts = Counts { bins, resolution_ns: 1, ..Counts::default() };
    counts.total(&place)?;
    // Without exact ones, extremes are as the encoding has them: the ends of the outermost bins.
    let (min_ns, max_ns) = match tagged.exact {
        Some((min, max)) => (Some(min), Some(max)),
        None => (counts.bins.first().map(|bin| bin.lower_ns), counts.bins.last().map(|bin| bin.upper_ns - 1)),
    };
    if !counts.bins.is_empty() {
        (counts.min_ns, counts.max_ns) = (min_ns, max_ns);
    }
    counts.check(&place)?;
    let mut stream = Stream::of_thread(number, Readings::Counts(Box::new(counts)));
    stream.cpu = label.strip_prefix("cpu ").and_then(|cpu| cpu.parse().ok());
    stream.label = Some(label);
    Ok(stream)
}
