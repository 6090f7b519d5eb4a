//! HdrHistogram's interval log, version 2: a line for each interval, with a tag for each stream.
//!
//! The log does not state its unit; nanoseconds are usual. A log from tardy has the unit in comments, with the exact
//! extremes, which the encoding rounds.

use std::collections::BTreeMap;
use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;

use super::{ImportOptions, decimal_ns};
use crate::error::{ImportError, Result};
use crate::export::hdr_log::{SERIES_MARK, unescaped};
use crate::hdr;
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, Unit};
use crate::lines::{Line, Lines};
use tardy_unpack::json;

const TAG_MAX: usize = 4096;
const HISTOGRAM: &str = "Interval_Compressed_Histogram";
/// The tolerance for times, which are rounded to three decimals of a second.
const TIME_ROUNDED_NS: i64 = 2_000_000;

#[derive(Default)]
struct Tagged {
    line: u64,
    bins: BTreeMap<(i64, i64), u64>,
    exact: Option<(i64, i64)>,
    /// Whether tardy exported a maximum that was a lower bound.
    max_at_least: bool,
    /// Beginning and end of the last interval.
    last_ns: Option<(i64, i64)>,
}

/// A line of the log.
struct Interval<'a> {
    tag: String,
    start_ns: i64,
    length_ns: i64,
    /// `Interval_Max`. Its unit may differ from that of the histogram.
    max: &'a str,
    bins: Vec<((i64, i64), u64)>,
}

/// Imports a log.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let mut imported = Imported {
        tool: "HdrHistogram".to_owned(),
        measures: "the values recorded by the program that wrote the log",
        late_periods: LatePeriods::Unknown,
        ..Imported::default()
    };
    let mut tags: BTreeMap<String, Tagged> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let (mut unit, mut seconds) = (options.unit, 0i64);
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line()? {
        let text = line.text.trim();
        if text.is_empty() || (line.unended && text.starts_with(['#', '"'])) {
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
        let factor = unit.ok_or(ImportError::UnitUnknown { format: "an HdrHistogram log" }).map(Unit::ns)?;
        let interval = match Interval::read(line, factor) {
            // A histogram is compressed as a whole: if it can be read without the line's end, it is complete.
            Err(_) if line.unended => {
                imported.cut_short = true;
                continue;
            }
            read => read?,
        };
        seconds = seconds.saturating_add(interval.length_ns.max(0));
        if !tags.contains_key(&interval.tag) {
            order.push(interval.tag.clone());
        }
        if tags.len() >= TAG_MAX {
            return Err(ImportError::TooMuch(format!("more than {TAG_MAX} tags")));
        }
        imported.contradictions.extend(interval.maximum_contradiction(line.number, factor));
        let into = tags
            .entry(interval.tag.clone())
            .or_insert_with(|| Tagged { line: line.number, ..Tagged::default() });
        imported.contradictions.extend(into.overlap(&interval, line.number)?);
        for (bounds, count) in interval.bins {
            let sum = into.bins.entry(bounds).or_default();
            *sum = sum.checked_add(count).ok_or_else(|| {
                ImportError::line(line.number, HISTOGRAM, "counts add up to more than 2^64")
            })?;
        }
        imported.used.unit |= options.unit.is_some() && into.exact.is_none();
    }
    imported.last_line = Some(lines.read_lines());
    let mut streams = Vec::new();
    for (number, tag) in order.iter().enumerate() {
        let Some(tagged) = tags.remove(tag) else { continue };
        imported.has_no_end |= tagged.exact.is_none();
        streams.push(stream(number as u32, tag, tagged)?);
    }
    if streams.is_empty() {
        if imported.cut_short {
            let reason = "the file ends in this line, and no interval before it is complete";
            return Err(ImportError::line(lines.read_lines(), "whole line", reason));
        }
        return Err(ImportError::field("the log", "it contains no interval"));
    }
    if streams.len() == 1 {
        imported.duration_ns = u64::try_from(seconds).ok().filter(|ns| *ns > 0);
    }
    imported.phases.push(ImportedPhase { label: "HdrHistogram".to_owned(), streams });
    Ok(imported)
}

impl<'a> Interval<'a> {
    fn read(line: Line<'a>, factor: i64) -> Result<Self> {
        let mut parts: Vec<&str> = line.whole()?.trim().split(',').collect();
        let tag = parts.first().and_then(|part| part.strip_prefix("Tag="));
        if tag.is_some() {
            parts.remove(0);
        }
        let [start, length, max, histogram] = parts.as_slice() else {
            return Err(ImportError::line(
                line.number,
                "whole line",
                "expected the four columns of an interval",
            ));
        };
        let time = |word: &str, field: &str| decimal_ns(word.trim(), 1_000_000_000, line.number, field);
        let (start_ns, length_ns) = (time(start, "StartTimestamp")?, time(length, "Interval_Length")?);
        let place = format!("line {}, {HISTOGRAM}", line.number);
        let mut bins = Vec::new();
        for (lower, upper, count) in hdr::decode(histogram.trim(), &place)? {
            let ns = |value: u64| i64::try_from(value).ok().and_then(|value| value.checked_mul(factor));
            let (Some(lower), Some(upper)) = (ns(lower), ns(upper)) else {
                return Err(ImportError::field(place, "has values longer than a measurement can be"));
            };
            bins.push(((lower, upper), count));
        }
        Ok(Self { tag: tag.unwrap_or("all").to_owned(), start_ns, length_ns, max: max.trim(), bins })
    }

    /// Checks that `Interval_Max`, in any power of ten of the histogram's unit, is in the highest bin.
    fn maximum_contradiction(&self, line: u64, factor: i64) -> Option<String> {
        let ((lower, upper), _) = self.bins.last()?;
        let (lower, upper) = (lower / factor, upper / factor);
        let stated = self.max.parse::<f64>().ok().filter(|max| *max >= 0.0)?;
        let digits = self.max.split_once('.').map_or(0, |(_, digits)| digits.len().min(9) as i32);
        let rounded = 10f64.powi(-digits);
        let fits = |power: i32| {
            let unit = 10f64.powi(power);
            (stated + rounded) * unit >= lower as f64 && (stated - rounded) * unit <= upper as f64
        };
        let differs = !(0..=12).any(fits);
        differs.then(|| {
            format!(
                "line {line}, Interval_Max: it is {stated}, but the histogram's highest value is {lower}, and no power of ten \
                 converts one into the other"
            )
        })
    }
}

impl Tagged {
    /// A contradiction if `interval` begins before the previous one ends.
    ///
    /// # Errors
    /// If the interval does not begin after the previous one.
    fn overlap(&mut self, interval: &Interval<'_>, line: u64) -> Result<Option<String>> {
        let end_ns = interval.start_ns.saturating_add(interval.length_ns);
        let Some((start_ns, over_ns)) = self.last_ns.replace((interval.start_ns, end_ns)) else {
            return Ok(None);
        };
        let seconds = |ns: i64| format!("{} s", ns as f64 / 1e9);
        let tag = &interval.tag;
        if interval.start_ns <= start_ns {
            let reason = format!(
                "tag {tag} begins at {}, its previous interval at {}; an interval appears twice, or a second \
                 measurement begins here; split the file",
                seconds(interval.start_ns),
                seconds(start_ns)
            );
            return Err(ImportError::line(line, "StartTimestamp", reason));
        }
        Ok((interval.start_ns.saturating_add(TIME_ROUNDED_NS) < over_ns).then(|| {
            format!(
                "line {line}, StartTimestamp: tag {tag} begins at {}, before its last interval ends, at {}: readings \
                 in between may be counted twice",
                seconds(interval.start_ns),
                seconds(over_ns)
            )
        }))
    }
}

/// Reads tardy's description of a series: its tag and exact extremes.
fn own_series(
    line: u64,
    words: &str,
    tags: &mut BTreeMap<String, Tagged>,
    order: &mut Vec<String>,
) -> Result<()> {
    let object = json::parse(&mut words.trim().trim_end_matches(']').as_bytes())?;
    let tag = object.required("tag", object.text("tag"))?.to_owned();
    let exact = object.whole("min_ns")?.zip(object.whole("max_ns")?);
    if !tags.contains_key(&tag) {
        order.push(tag.clone());
    }
    if tags.len() >= TAG_MAX {
        return Err(ImportError::TooMuch(format!("more than {TAG_MAX} tags")));
    }
    let into = tags.entry(tag).or_default();
    (into.line, into.exact, into.max_at_least) = (line, exact, object.has("max_at_least"));
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
    // The histograms have no end: no reading is beyond them.
    let mut counts = Counts { bins, resolution_ns: 1, overflows: Some(0), ..Counts::default() };
    counts.total(&place)?;
    // Without exact extremes, the ends of the outermost bins are used.
    (counts.max_is_stated, counts.max_at_least) =
        (tagged.exact.is_some() && !tagged.max_at_least, tagged.max_at_least);
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
