//! The plot file of EVL's `latmus` (-g): the parameters in comments, then a count for each us.

use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;
use tardy_record::plan::Policy;

use super::{ImportOptions, decimal_ns, number, xenomai};
use crate::dates;
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream};
use crate::lines::Lines;

/// Imports a plot file.
pub(crate) fn import(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let mut imported = Imported {
        tool: "latmus".to_owned(),
        measures: xenomai::MEASURES,
        late_periods: LatePeriods::Counted,
        ..Imported::default()
    };
    let mut counts = Counts { resolution_ns: 1, ..Counts::default() };
    let mut stream = Stream::of_thread(0, Readings::Counts(Box::default()));
    let mut label = "latmus".to_owned();
    let mut listed = None;
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line()? {
        let text = line.whole()?.trim();
        imported.cut_short = line.unended;
        if line.unended || text.is_empty() {
            continue;
        }
        let Some(comment) = text.strip_prefix('#') else {
            let (cell, count) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            let open = cell.ends_with('+');
            let lower_ns = decimal_ns(cell.trim_end_matches('+'), 1000, line.number, "cell")?;
            let count = number(count.trim(), line.number, "count")?;
            if counts.bins.last().is_some_and(|bin| bin.upper_ns > lower_ns) {
                return Err(ImportError::line(line.number, "cell", "it does not ascend"));
            }
            if count > 0 {
                let upper_ns = if open { i64::MAX } else { lower_ns.saturating_add(1000) };
                counts.bins.push(Bin { lower_ns, upper_ns, count });
            }
            continue;
        };
        let Some((key, value)) = comment.split_once(':') else {
            if comment.trim_start().starts_with("Linux version") {
                imported.system.release = comment.split_whitespace().nth(2).map(str::to_owned);
            }
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let first = value.split_whitespace().next().unwrap_or("");
        let us = || decimal_ns(first, 1000, line.number, key);
        match key {
            "libevl version" => imported.version = Some(first.chars().take(32).collect()),
            "sampling period" => stream.interval_ns = u64::try_from(us()?).ok().filter(|ns| *ns > 0),
            "clocksource" => imported.system.clock_source = Some(first.to_owned()),
            "context" => {
                stream.level = xenomai::level(first).unwrap_or(stream.level);
                label = first.chars().take(64).collect();
            }
            "thread priority" => {
                stream.priority = first.parse().ok().filter(|n| *n <= 99);
                stream.policy = stream.priority.filter(|n| *n > 0).map(|_| Policy::Fifo);
            }
            "thread affinity" => {
                let digits: String = first
                    .chars()
                    .skip_while(|c| !c.is_ascii_digit())
                    .take_while(char::is_ascii_digit)
                    .collect();
                stream.cpu = digits.parse().ok();
            }
            "duration (hhmmss)" => imported.duration_ns = dates::duration_ns(first),
            "OVERRUNS" => counts.missed = Some(number(first, line.number, key)?),
            "IN-BAND SWITCHES" if first != "0" => {
                imported
                    .contradictions
                    .push(format!("line {}: the thread left the real-time core {first} times", line.number));
            }
            "min latency" => counts.min_ns = Some(us()?),
            "avg latency" => counts.mean_ns = Some(us()? as f64),
            "max latency" => (counts.max_ns, counts.max_is_stated) = (Some(us()?), true),
            "sample count" => listed = Some((line.number, number(first, line.number, key)?)),
            _ => {}
        }
    }
    imported.last_line = Some(lines.read_lines());
    let total = counts.total("the cells")?;
    if let Some((line, listed)) = listed.filter(|(_, listed)| *listed != total) {
        imported
            .contradictions
            .push(format!("line {line}, sample count: it is {listed}, but the cells hold {total}"));
    }
    if let (Some(min), Some(first)) = (counts.min_ns, counts.bins.first_mut())
        && min < 0
    {
        first.lower_ns = first.lower_ns.min(min);
    }
    counts.open_last_for_maximum();
    if counts.bins.is_empty() {
        (counts.min_ns, counts.max_ns) = (None, None);
    }
    counts.check("min latency, max latency")?;
    stream.readings = Readings::Counts(Box::new(counts));
    imported.phases.push(ImportedPhase { label, streams: vec![stream] });
    Ok(imported)
}
