//! rtla's histograms: timerlat and osnoise, `hist`.
//!
//! Columns are identified by their names. Each CPU has two or three: IRQ, thread, and the return to user space if rtla
//! measures its own threads. Each of timerlat's levels is a phase; all phases have the same cycles. The columns are
//! checked against the sums in the `ALL:` block of newer versions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;
use tardy_record::series::{Level, Quantity};

use super::rtla_analysis::Analysis;
use super::{ImportOptions, decimal_ns, number};
use crate::dates;
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, Unit, in_ns};
use crate::lines::{Line, Lines};

const COLUMN_MAX: usize = 3 * 4096;
const TIMERLAT: &str = "from timerlat's timer to its interrupt, its thread and the return to user space";
const OSNOISE: &str = "how long each noise took the CPU from a busy thread";

/// The block `ALL:`, with a column for each level.
struct Totals {
    line: u64,
    levels: Vec<Level>,
    values: BTreeMap<&'static str, Vec<Option<i64>>>,
}

#[derive(Default)]
struct Histogram {
    is_osnoise: bool,
    unit: Option<Unit>,
    duration_ns: Option<u64>,
    columns: Vec<(Level, u32)>,
    rows: Vec<(u64, Vec<u64>)>,
    summary: BTreeMap<&'static str, (u64, Vec<Option<i64>>)>,
    totals: Option<Totals>,
    unended: bool,
    analysis: Analysis,
}

/// The content of a file from one of rtla's tools, still without readings.
pub(super) fn without_readings(is_osnoise: bool, duration_ns: Option<u64>, last_line: u64) -> Imported {
    Imported {
        tool: if is_osnoise { "rtla osnoise" } else { "rtla timerlat" }.to_owned(),
        measures: if is_osnoise { OSNOISE } else { TIMERLAT },
        // The tracer's thread continues with the next future period (kernel, trace_osnoise.c).
        late_periods: if is_osnoise { LatePeriods::NoSchedule } else { LatePeriods::Skipped },
        duration_ns,
        last_line: Some(last_line),
        ..Imported::default()
    }
}

/// The stream of a CPU at a `level`; `highest` is the highest level in the file.
pub(super) fn stream(
    cpu: u32,
    level: Level,
    highest: Option<Level>,
    is_osnoise: bool,
    counts: Counts,
) -> Stream {
    let mut stream = Stream::of_thread(cpu, Readings::Counts(Box::new(counts)));
    (stream.cpu, stream.level, stream.beside) = (Some(cpu), level, Some(level) != highest);
    stream.quantity = if is_osnoise { Quantity::Noise } else { Quantity::Latency };
    stream
}

/// Imports a histogram.
pub(crate) fn import_histogram(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let mut lines = Lines::new(reader);
    let mut file = Histogram::default();
    while let Some(line) = lines.next_line()? {
        file.line(line)?;
    }
    let mut imported = without_readings(file.is_osnoise, file.duration_ns, lines.read_lines());
    let unit = match (file.unit, options.unit) {
        (Some(unit), _) => unit,
        (None, Some(unit)) => {
            imported.used.unit = true;
            unit
        }
        (None, None) => {
            return Err(ImportError::UnitUnknown { format: "rtla's histogram without its header" });
        }
    };
    if file.columns.is_empty() && !file.summary.contains_key("count") {
        return Err(ImportError::field(
            "the file",
            "no line names the columns, so CPUs are unknown; run rtla without --no-header and --no-index",
        ));
    }
    imported.cut_short = file.unended || !file.summary.contains_key("max");
    if imported.cut_short {
        imported.remarks.push("the file ends before its maxima; those shown are the highest bins".to_owned());
    }
    imported.remarks.extend(file.analysis.remarks(&file.cpus()));
    let streams = file.streams(unit, &mut imported)?;
    imported.contradictions.extend(file.contradictions_with_totals());
    imported.phases = phases(streams, if file.is_osnoise { "osnoise" } else { "timerlat" });
    Ok(imported)
}

impl Histogram {
    fn line(&mut self, line: Line<'_>) -> Result<()> {
        let text = line.text.trim();
        if self.analysis.line(line, text)? || text.is_empty() {
            return Ok(());
        }
        if self.totals.is_some() {
            return self.total(line);
        }
        self.unended = line.unended;
        if line.unended && !text.starts_with("max:") {
            return Ok(());
        }
        if let Some(comment) = text.strip_prefix('#') {
            self.is_osnoise |= comment.contains("osnoise histogram");
            if let Some(unit) = comment.trim().strip_prefix("Time unit is ") {
                self.unit = Some(if unit.starts_with("nano") { Unit::Ns } else { Unit::Us });
            }
            if let Some(duration) = comment.trim().strip_prefix("Duration:") {
                self.duration_ns = duration_ns(duration);
            }
            return Ok(());
        }
        line.whole()?;
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or("");
        match first {
            "Index" if self.columns.is_empty() && self.rows.is_empty() => {
                self.columns = columns(line, words)?
            }
            "Index" => {
                let reason =
                    "a second line names columns, or it follows rows; split the file and import each part";
                return Err(ImportError::line(line.number, "Index", reason));
            }
            "over:" | "count:" | "min:" | "avg:" | "max:" => {
                self.summarise(line, summary_key(first), words)?
            }
            "ALL:" => {
                let levels = words.map_while(level).collect();
                self.totals = Some(Totals { line: line.number, levels, values: BTreeMap::new() });
            }
            _ if first.bytes().all(|byte| byte.is_ascii_digit()) => {
                let value = number(first, line.number, "Index")?;
                let counts =
                    words.map(|word| number(word, line.number, "count")).collect::<Result<Vec<_>>>()?;
                if counts.len() != self.columns.len() {
                    let reason = format!("{} counts for {} columns", counts.len(), self.columns.len());
                    return Err(ImportError::line(line.number, "whole line", reason));
                }
                if self.rows.last().is_some_and(|(before, _)| *before >= value) {
                    return Err(ImportError::line(line.number, "Index", "it does not ascend"));
                }
                self.rows.push((value, counts));
            }
            // The output of auto-analysis follows the histogram.
            _ => {}
        }
        Ok(())
    }

    fn summarise<'a>(
        &mut self,
        line: Line<'_>,
        key: &'static str,
        words: impl Iterator<Item = &'a str>,
    ) -> Result<()> {
        let values = words.map(|word| summary_value(word, key, line)).collect::<Result<Vec<_>>>()?;
        if values.len() > COLUMN_MAX {
            return Err(ImportError::line(line.number, key, "too many columns"));
        }
        self.summary.entry(key).or_insert((line.number, values));
        Ok(())
    }

    /// Reads a line after `ALL:`.
    fn total(&mut self, line: Line<'_>) -> Result<()> {
        let mut words = line.text.split_whitespace();
        let key = summary_key(words.next().unwrap_or(""));
        self.unended = line.unended;
        if key.is_empty() || line.unended {
            return Ok(());
        }
        let values = words.map(|word| summary_value(word, key, line)).collect::<Result<Vec<_>>>()?;
        if let Some(totals) = &mut self.totals {
            if values.len() != totals.levels.len() {
                let reason = format!("{} values for {} columns of ALL", values.len(), totals.levels.len());
                return Err(ImportError::line(line.number, key, reason));
            }
            totals.values.entry(key).or_insert(values);
        }
        Ok(())
    }

    /// Contradictions between the block `ALL:` and the columns of its level.
    fn contradictions_with_totals(&self) -> Vec<String> {
        let mut contradictions = Vec::new();
        let Some(totals) = &self.totals else { return contradictions };
        for (at, level) in totals.levels.iter().enumerate() {
            let of_level = |key: &str| -> Vec<i64> {
                let values = self.summary.get(key).map_or(&[][..], |(_, values)| values);
                let columns = self.columns.iter().zip(values);
                columns.filter(|((of, _), _)| of == level).filter_map(|(_, value)| *value).collect()
            };
            let sum = of_level("count").iter().fold(0i64, |sum, count| sum.saturating_add(*count));
            // Without readings, older versions print the highest possible number.
            if sum == 0 {
                continue;
            }
            let (least, most) = (of_level("min").into_iter().min(), of_level("max").into_iter().max());
            for (key, expected) in [("count", Some(sum)), ("min", least), ("max", most)] {
                let stated = totals.values.get(key).and_then(|values| *values.get(at)?);
                if let (Some(stated), Some(expected)) = (stated, expected)
                    && stated != expected
                {
                    contradictions.push(format!(
                        "line {} ff., ALL, {key} of {}: it is {stated}, but the columns give {expected}",
                        totals.line,
                        level.name()
                    ));
                }
            }
            let stated = totals.values.get("avg").and_then(|values| *values.get(at)?);
            let means = of_level("avg");
            if let (Some(stated), Some(least), Some(most)) = (stated, means.iter().min(), means.iter().max())
                // The mean is truncated to whole units or rounded to hundredths.
                && !(least - 1000..=most + 1000).contains(&stated)
            {
                contradictions.push(format!(
                    "line {} ff., ALL, avg of {}: it is {}, but the columns have {} to {}",
                    totals.line,
                    level.name(),
                    stated as f64 / 1000.0,
                    *least as f64 / 1000.0,
                    *most as f64 / 1000.0
                ));
            }
        }
        contradictions
    }

    fn cpus(&self) -> Vec<u32> {
        let cpus: BTreeSet<u32> = self.columns.iter().map(|(_, cpu)| *cpu).collect();
        cpus.into_iter().collect()
    }

    /// The levels at which a CPU has a reading; all of them if none has. Without threads of its own, rtla has columns for
    /// the return to user space that stay empty.
    fn levels_with_readings(&self) -> Vec<Level> {
        let over = self.summary.get("over").map_or(&[][..], |(_, values)| values);
        let is_counted = |column: usize| {
            self.rows.iter().any(|(_, counts)| counts[column] > 0)
                || over.get(column).is_some_and(|over| over.is_some_and(|over| over > 0))
        };
        let levels = |columns: &dyn Fn(usize) -> bool| -> Vec<Level> {
            self.columns
                .iter()
                .enumerate()
                .filter(|(column, _)| columns(*column))
                .map(|(_, (level, _))| *level)
                .collect()
        };
        let counted = levels(&is_counted);
        if counted.is_empty() { levels(&|_| true) } else { counted }
    }

    fn streams(&self, unit: Unit, imported: &mut Imported) -> Result<Vec<Stream>> {
        // The width of a bin (-b) is the greatest common divisor of the rows.
        let width = self.rows.iter().fold(0, |width, (value, _)| greatest_divisor(width, *value)).max(1);
        let width = if self.rows.len() < 3 || width < 2 { 1 } else { width };
        let mut streams = Vec::new();
        let (levels, cpus) = (self.levels_with_readings(), self.cpus());
        let highest =
            self.columns.iter().map(|(level, _)| *level).filter(|level| levels.contains(level)).max();
        let reach = self.rows.last().map_or(0, |(value, _)| value.saturating_add(width));
        for (column, (level, cpu)) in self.columns.iter().enumerate() {
            if !levels.contains(level) {
                imported.remarks.push(format!("there is no reading of the {} on CPU {cpu}", level.name()));
                continue;
            }
            let of = |key: &str| self.summary.get(key).and_then(|(_, values)| *values.get(column)?);
            let line = |key: &str| self.summary.get(key).map_or(0, |(line, _)| *line);
            let place = format!("column {}", column + 1);
            let mut bins = Vec::new();
            for (value, counts) in self.rows.iter().filter(|(_, counts)| counts[column] > 0) {
                let value = i64::try_from(*value).unwrap_or(i64::MAX);
                let lower_ns = in_ns(value, unit, &place)?;
                let upper_ns = in_ns(value.saturating_add(width as i64), unit, &place)?;
                bins.push(Bin { lower_ns, upper_ns, count: counts[column] });
            }
            // osnoise's values are truncated to bins, not only to units.
            let cut_off_to = if self.is_osnoise { width } else { 1 };
            let resolution_ns = (unit.ns() as u64).saturating_mul(cut_off_to);
            let mut counts = Counts { bins, resolution_ns, ..Counts::default() };
            if let Some(over) = of("over") {
                counts.add_overflows(in_ns(reach.min(1 << 50) as i64, unit, &place)?, over as u64);
            }
            let total = counts.total(&place)?;
            if let Some(count) = of("count").filter(|count| *count as u64 != total) {
                imported.contradictions.push(format!(
                    "line {}, count, {place}: it is {count}, but the rows and 'over' add up to {total}",
                    line("count")
                ));
            }
            let (first, last) = (counts.bins.first().copied(), counts.bins.last().copied());
            let extreme = |key: &str, bin: Option<i64>| -> Result<Option<i64>> {
                // Without a reading, rtla up to 6.9 prints the highest number as the minimum, and 0 as the maximum.
                match of(key).filter(|_| total > 0) {
                    Some(value) => {
                        in_ns(value, unit, &format!("line {}, {key}, {place}", line(key))).map(Some)
                    }
                    None => Ok(bin),
                }
            };
            counts.min_ns = extreme("min", first.map(|bin| bin.lower_ns))?;
            counts.max_is_stated = of("max").is_some();
            counts.max_at_least = !counts.max_is_stated;
            counts.max_ns = extreme("max", last.map(|bin| bin.lower_ns))?;
            if self.is_osnoise {
                // osnoise's extremes are truncated to their bins (the kernel's hist trigger).
                counts.open_last_for_maximum();
            }
            counts.mean_ns = of("avg").map(|thousandths| thousandths as f64 / 1000.0 * unit.ns() as f64);
            if counts.bins.is_empty() {
                (counts.min_ns, counts.max_ns, counts.mean_ns) = (None, None, None);
            }
            self.analysis.complete(&mut counts, *level, *cpu, &cpus);
            counts.check(&format!("lines {} ff., min and max, {place}", line("min")))?;
            streams.push(stream(*cpu, *level, highest, self.is_osnoise, counts));
        }
        Ok(streams)
    }
}

/// The key of a summary line. Empty if it is not one.
fn summary_key(word: &str) -> &'static str {
    let known = ["over:", "count:", "min:", "avg:", "max:"].into_iter().find(|known| *known == word);
    known.map_or("", |known| known.trim_end_matches(':'))
}

/// Parses a value of the summary; an average in thousandths. `None` for `-`.
fn summary_value(word: &str, key: &str, line: Line<'_>) -> Result<Option<i64>> {
    match (word, key) {
        ("-", _) => Ok(None),
        (_, "avg") => decimal_ns(word, 1000, line.number, key).map(Some),
        _ => {
            let value = number(word, line.number, key)?;
            Ok(Some(i64::try_from(value).unwrap_or(i64::MAX)))
        }
    }
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// The level of a column, by the beginning of its name.
fn level(name: &str) -> Option<Level> {
    match name {
        "IRQ" => Some(Level::Irq),
        "Thr" => Some(Level::KernelThread),
        "Usr" | "CPU" => Some(Level::UserThread),
        _ => None,
    }
}

/// `IRQ-000 Thr-000 Usr-000` or `CPU-000`.
fn columns<'a>(line: Line<'_>, words: impl Iterator<Item = &'a str>) -> Result<Vec<(Level, u32)>> {
    let column = |word: &str| {
        let (name, cpu) = word.split_once('-')?;
        Some((level(name)?, cpu.parse::<u32>().ok()?))
    };
    let wrong = |word: &str| {
        let shown: String = word.chars().take(20).collect();
        ImportError::line(line.number, "Index", format!("'{shown}' is not a column name such as IRQ-000"))
    };
    let columns = words.map(|word| column(word).ok_or_else(|| wrong(word))).collect::<Result<Vec<_>>>()?;
    let mut distinct = columns.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() != columns.len() || columns.len() > COLUMN_MAX {
        return Err(ImportError::line(line.number, "Index", "a column appears twice"));
    }
    Ok(columns)
}

/// A phase for each level, from the hardware upwards.
pub(super) fn phases(streams: Vec<Stream>, label: &str) -> Vec<ImportedPhase> {
    let mut levels: Vec<Level> = streams.iter().map(|stream| stream.level).collect();
    levels.sort_unstable();
    levels.dedup();
    let name = |level: Level| match (levels.len(), label) {
        (1, _) | (_, "osnoise") => label.to_owned(),
        _ => format!("{label}, {}", level.name()),
    };
    if levels.is_empty() {
        return vec![ImportedPhase { label: label.to_owned(), streams }];
    }
    let of = |level: Level| streams.iter().filter(|stream| stream.level == level).cloned().collect();
    levels.iter().map(|level| ImportedPhase { label: name(*level), streams: of(*level) }).collect()
}

/// `0 00:10:00`: days and a time.
pub(super) fn duration_ns(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let days: u64 = words.next()?.parse().ok().filter(|days| *days < 100_000)?;
    (days * 86_400_000_000_000).checked_add(dates::duration_ns(words.next()?)?)
}
