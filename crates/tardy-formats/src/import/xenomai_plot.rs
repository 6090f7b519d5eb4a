//! The plot file of Xenomai's `latency` (-g): a point for each cell, at the height of its count plus one.

use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;

use super::{ImportOptions, decimal_ns, number, xenomai};
use crate::dates;
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream};
use crate::lines::Lines;

/// Imports a plot file.
pub(crate) fn import(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let mut imported = Imported {
        tool: "Xenomai latency".to_owned(),
        measures: xenomai::MEASURES,
        late_periods: LatePeriods::Counted,
        ..Imported::default()
    };
    let mut lines = Lines::new(reader);
    let mut mode = String::new();
    let (mut period_ns, mut priority, mut result) = (None, None, None);
    let mut points: Vec<(i64, u64)> = Vec::new();
    while let Some(line) = lines.next_line()? {
        let text = line.whole()?.trim();
        imported.cut_short = line.unended;
        if line.unended || text.is_empty() {
            continue;
        }
        if let Some(comment) = text.strip_prefix('#') {
            if let Some((time, inner)) = comment.split_once('(') {
                let mut parts = inner.trim_end_matches(')').split(',').map(str::trim);
                mode = parts.next().unwrap_or("").chars().take(64).collect();
                for part in parts {
                    let words: Vec<&str> = part.split_whitespace().collect();
                    match words.as_slice() {
                        [us, "us", "period"] => {
                            period_ns = us.parse::<u64>().ok().and_then(|us| us.checked_mul(1000))
                        }
                        ["priority", n] => priority = n.parse::<u32>().ok().filter(|n| *n <= 99),
                        _ => {}
                    }
                }
                imported.duration_ns = dates::duration_ns(time);
            } else if comment.contains('|') && comment.contains('.') {
                let cells: Vec<&str> = comment.split('|').map(str::trim).collect();
                if let [min, mean, max, overruns, ..] = cells.as_slice() {
                    let us = |cell: &str, name: &str| decimal_ns(cell, 1000, line.number, name);
                    result = Some((
                        us(min, "lat min")?,
                        us(mean, "lat avg")?,
                        us(max, "lat max")?,
                        number(overruns, line.number, "overrun")?,
                    ));
                }
            }
            continue;
        }
        let (x, y) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let x = decimal_ns(x, 1000, line.number, "x")?;
        let y = number(y.trim(), line.number, "y")?;
        if y == 0 || points.last().is_some_and(|(before, _)| *before >= x) {
            let reason = "points must ascend and be at least 1, the height of a cell without samples";
            return Err(ImportError::line(line.number, "whole line", reason));
        }
        points.push((x, y));
    }
    imported.last_line = Some(lines.read_lines());
    let width_ns =
        points.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|ns| *ns > 1).min().unwrap_or(1000);
    let inner = points.iter().filter(|(_, y)| *y > 1);
    let bins: Vec<Bin> = inner
        .map(|(x, y)| Bin { lower_ns: x - width_ns / 2, upper_ns: x - width_ns / 2 + width_ns, count: y - 1 })
        .collect();
    let mut counts = Counts { bins, resolution_ns: 1, ..Counts::default() };
    match result {
        Some((min, mean, max, overruns)) => {
            (counts.min_ns, counts.max_ns) = (Some(min), Some(max));
            (counts.mean_ns, counts.missed) = (Some(mean as f64), Some(overruns));
        }
        None => {
            counts.min_ns = counts.bins.first().map(|bin| bin.lower_ns);
            counts.max_ns = counts.bins.last().map(|bin| bin.upper_ns - 1);
            imported.remarks.push(
                "the file has no extremes; those shown are the edges of the outermost cells".to_owned(),
            );
        }
    }
    counts.open_last_for_maximum();
    counts.check("the comment with lat min and lat max")?;
    let mut stream = Stream::of_thread(0, Readings::Counts(Box::new(counts)));
    stream.level = xenomai::level(&mode).unwrap_or(stream.level);
    (stream.interval_ns, stream.priority) = (period_ns.filter(|ns| *ns > 0), priority);
    imported.phases.push(ImportedPhase { label: mode, streams: vec![stream] });
    Ok(imported)
}
