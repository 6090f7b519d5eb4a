//! rtla's histograms and tables: timerlat and osnoise, `hist` and `top`.
//!
//! Columns of a histogram are named, and their names are read: any set of CPUs, two or three columns each (IRQ, thread, and
//! the return to user space where rtla measures threads of its own). Of the three levels of timerlat each is a phase, all of
//! the same cycles. The `ALL:` block of newer versions adds up what is there already, and is passed over.

use std::collections::BTreeMap;
use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;
use tardy_record::series::{Level, Quantity};

use super::{ImportOptions, decimal_ns, number};
use crate::dates;
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, Unit, in_ns};
use crate::lines::{Line, Lines};

const COLUMN_MAX: usize = 3 * 4096;
const TIMERLAT: &str = "from timerlat's timer to its interrupt, its thread and the return to user space";
const OSNOISE: &str = "how long single noises took a CPU from a thread that does not stop";

#[derive(Default)]
struct Histogram {
    is_osnoise: bool,
    unit: Option<Unit>,
    duration_ns: Option<u64>,
    columns: Vec<(Level, u32)>,
    rows: Vec<(u64, Vec<u64>)>,
    summary: BTreeMap<&'static str, (u64, Vec<Option<i64>>)>,
    in_total: bool,
    unended: bool,
}

/// Imports a histogram.
pub(crate) fn import_histogram(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let mut lines = Lines::new(reader);
    let mut file = Histogram::default();
    while let Some(line) = lines.next_line()? {
        file.line(line)?;
    }
    let mut imported = Imported {
        tool: if file.is_osnoise { "rtla osnoise" } else { "rtla timerlat" }.to_owned(),
        measures: if file.is_osnoise { OSNOISE } else { TIMERLAT },
        // The tracer's thread goes on with the next period that is still to come (kernel, trace_osnoise.c).
        late_periods: if file.is_osnoise { LatePeriods::NoSchedule } else { LatePeriods::Skipped },
        duration_ns: file.duration_ns,
        last_line: Some(lines.read_lines()),
        ..Imported::default()
    };
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
            "no line names its columns: it was made with --no-header or --no-index, and nobody can tell CPUs apart",
        ));
    }
    imported.cut_short = file.unended || !file.summary.contains_key("max");
    if imported.cut_short {
        imported
            .remarks
            .push("the file ends before its maxima: those shown are of the highest bins".to_owned());
    }
    let streams = file.streams(unit, &mut imported)?;
    imported.phases = phases(streams, if file.is_osnoise { "osnoise" } else { "timerlat" });
    Ok(imported)
}

impl Histogram {
    fn line(&mut self, line: Line<'_>) -> Result<()> {
        let text = line.text.trim();
        if text.is_empty() || self.in_total {
            return Ok(());
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
                    "columns are named a second time, or behind their rows: split the file, and import each";
                return Err(ImportError::line(line.number, "Index", reason));
            }
            "over:" | "count:" | "min:" | "avg:" | "max:" => {
                let key = ["over:", "count:", "min:", "avg:", "max:"].into_iter().find(|key| *key == first);
                self.summarise(line, key.unwrap_or("max:").trim_end_matches(':'), words)?;
            }
            "ALL:" => self.in_total = true,
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
            // What auto-analysis says stands behind the histogram.
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
        let value = |word: &str| -> Result<Option<i64>> {
            match (word, key) {
                ("-", _) => Ok(None),
                (_, "avg") => decimal_ns(word, 1000, line.number, key).map(Some),
                _ => number(word, line.number, key)
                    .map(|count| i64::try_from(count).unwrap_or(i64::MAX))
                    .map(Some),
            }
        };
        let values = words.map(value).collect::<Result<Vec<_>>>()?;
        if values.len() > COLUMN_MAX {
            return Err(ImportError::line(line.number, key, "more columns than any machine needs"));
        }
        self.summary.entry(key).or_insert((line.number, values));
        Ok(())
    }

    fn streams(&self, unit: Unit, imported: &mut Imported) -> Result<Vec<Stream>> {
        // The width of a bin (-b) is the greatest that all rows are multiples of, as far as there are rows.
        let width = self.rows.iter().fold(0, |width, (value, _)| greatest_divisor(width, *value)).max(1);
        let width = if self.rows.len() < 3 || width < 2 { 1 } else { width };
        let mut streams = Vec::new();
        let highest = self.columns.iter().map(|(level, _)| *level).max();
        let reach = self.rows.last().map_or(0, |(value, _)| value.saturating_add(width));
        for (column, (level, cpu)) in self.columns.iter().enumerate() {
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
            // Of osnoise all that the table says is cut off to the bin, and not to the unit alone.
            let cut_off_to = if self.is_osnoise { width } else { 1 };
            let resolution_ns = (unit.ns() as u64).saturating_mul(cut_off_to);
            let mut counts = Counts { bins, resolution_ns, ..Counts::default() };
            if let Some(over) = of("over") {
                counts.add_overflows(in_ns(reach.min(1 << 50) as i64, unit, &place)?, over as u64);
            }
            let total = counts.total(&place)?;
            if let Some(count) = of("count").filter(|count| *count as u64 != total) {
                imported.contradictions.push(format!(
                    "line {}, count, {place}: it says {count}, but the rows and 'over' add up to {total}",
                    line("count")
                ));
            }
            let (first, last) = (counts.bins.first().copied(), counts.bins.last().copied());
            let extreme = |key: &str, bin: Option<i64>| -> Result<Option<i64>> {
                match of(key) {
                    Some(value) => {
                        in_ns(value, unit, &format!("line {}, {key}, {place}", line(key))).map(Some)
                    }
                    None => Ok(bin),
                }
            };
            counts.min_ns = extreme("min", first.map(|bin| bin.lower_ns))?;
            counts.max_ns = extreme("max", last.map(|bin| bin.lower_ns))?;
            if self.is_osnoise {
                // Its extremes are cut off to the bin that they are in (the kernel's hist trigger).
                counts.open_last_for_maximum();
            }
            counts.mean_ns = of("avg").map(|thousandths| thousandths as f64 / 1000.0 * unit.ns() as f64);
            if counts.bins.is_empty() {
                (counts.min_ns, counts.max_ns) = (None, None);
            }
            counts.check(&format!("lines {} ff., min and max, {place}", line("min")))?;
            let mut stream = Stream::of_thread(*cpu, Readings::Counts(Box::new(counts)));
            stream.cpu = Some(*cpu);
            stream.level = *level;
            stream.quantity = if self.is_osnoise { Quantity::Noise } else { Quantity::Latency };
            stream.beside = Some(*level) != highest;
            streams.push(stream);
        }
        Ok(streams)
    }
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// `IRQ-000 Thr-000 Usr-000` or `CPU-000`.
fn columns<'a>(line: Line<'_>, words: impl Iterator<Item = &'a str>) -> Result<Vec<(Level, u32)>> {
    let column = |word: &str| {
        let (name, cpu) = word.split_once('-')?;
        let level = match name {
            "IRQ" => Level::Irq,
            "Thr" => Level::KernelThread,
            "Usr" | "CPU" => Level::UserThread,
            _ => return None,
        };
        Some((level, cpu.parse::<u32>().ok()?))
    };
    let wrong = |word: &str| {
        let shown: String = word.chars().take(20).collect();
        ImportError::line(line.number, "Index", format!("'{shown}' is no column's name such as IRQ-000"))
    };
    let columns = words.map(|word| column(word).ok_or_else(|| wrong(word))).collect::<Result<Vec<_>>>()?;
    let mut distinct = columns.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() != columns.len() || columns.len() > COLUMN_MAX {
        return Err(ImportError::line(line.number, "Index", "a column is there twice"));
    }
    Ok(columns)
}

/// A phase for each level that there is, in the order from the hardware up.
fn phases(streams: Vec<Stream>, label: &str) -> Vec<ImportedPhase> {
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
fn duration_ns(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let days: u64 = words.next()?.parse().ok().filter(|days| *days < 100_000)?;
    let seconds = u64::try_from(dates::clock_time(words.next()?)?).ok()?;
    (days * 86_400).checked_add(seconds)?.checked_mul(1_000_000_000)
}

/// Imports `top`: a count and extremes of each CPU, of the last screen.
pub(crate) fn import_top(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let mut lines = Lines::new(reader);
    let mut top = Top::default();
    while let Some(line) = lines.next_line()? {
        top.line(line)?;
    }
    let mut imported = Imported {
        tool: if top.is_osnoise { "rtla osnoise" } else { "rtla timerlat" }.to_owned(),
        measures: if top.is_osnoise { OSNOISE } else { TIMERLAT },
        late_periods: if top.is_osnoise { LatePeriods::NoSchedule } else { LatePeriods::Skipped },
        duration_ns: top.duration_ns,
        ..Imported::default()
    };
    imported
        .remarks
        .push("the table has counts and extremes and no distribution: there are no quantiles".to_owned());
    if top.is_osnoise {
        imported.remarks.push(
            "of each period the table has the longest noise only: readings are periods, and the least is unknown"
                .to_owned(),
        );
    }
    let highest = top.cpus.values().flat_map(|levels| levels.keys()).max().copied();
    let mut streams = Vec::new();
    for (cpu, levels) in &top.cpus {
        for (level, found) in levels {
            let mut counts = Counts::extremes(found.count, found.min_ns, found.max_ns, found.resolution_ns);
            counts.mean_ns = found.mean_ns;
            counts.check(&format!("line {}, CPU {cpu}", found.line))?;
            let mut stream = Stream::of_thread(*cpu, Readings::Counts(Box::new(counts)));
            (stream.cpu, stream.level, stream.beside) = (Some(*cpu), *level, Some(*level) != highest);
            stream.quantity = if top.is_osnoise { Quantity::Noise } else { Quantity::Latency };
            streams.push(stream);
        }
    }
    if streams.is_empty() {
        return Err(ImportError::field("the file", "there is no CPU's line in the table"));
    }
    imported.phases = phases(streams, if top.is_osnoise { "osnoise" } else { "timerlat" });
    Ok(imported)
}

#[derive(Default)]
struct Top {
    is_osnoise: bool,
    unit: Option<Unit>,
    duration_ns: Option<u64>,
    cpus: BTreeMap<u32, BTreeMap<Level, TopCell>>,
}

struct TopCell {
    line: u64,
    count: u64,
    min_ns: i64,
    max_ns: i64,
    mean_ns: Option<f64>,
    resolution_ns: u64,
}

impl Top {
    fn line(&mut self, line: Line<'_>) -> Result<()> {
        let plain: String = line.text.chars().filter(|c| !c.is_control()).collect();
        let text = plain.trim();
        if line.text.contains("Timer Latency") && !text.contains('|') {
            self.cpus.clear();
        } else if text.contains("Operating System Noise") || text.contains("Hardware-related Noise") {
            self.is_osnoise = true;
            self.cpus.clear();
        } else if text.contains("IRQ Timer Latency (") {
            self.unit = Some(if text.contains("(ns)") { Unit::Ns } else { Unit::Us });
            self.duration_ns = text.split('|').next().and_then(duration_ns);
        } else if let Some(rest) = text.strip_prefix("duration:") {
            self.unit = Some(Unit::Us);
            self.duration_ns = rest.split('|').next().and_then(duration_ns);
        } else if text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('#') && !line.unended {
            line.whole()?;
            self.cpu(line, text)?;
        }
        Ok(())
    }

    /// `  0 #1000000   |        1        0 …`
    fn cpu(&mut self, line: Line<'_>, text: &str) -> Result<()> {
        let unit =
            self.unit.ok_or_else(|| ImportError::line(line.number, "CPU", "no header stands before it"))?;
        let (cpu, rest) = text.split_once('#').unwrap_or((text, ""));
        let cpu = number(cpu.trim(), line.number, "CPU")?;
        let cpu = u32::try_from(cpu).map_err(|_| ImportError::line(line.number, "CPU", "is none"))?;
        let mut levels = BTreeMap::new();
        let value = |word: &str, key: &str| -> Result<i64> {
            in_ns(decimal_ns(word, 1, line.number, key)?, unit, &format!("line {}, {key}", line.number))
        };
        if self.is_osnoise {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let [count, _, _, _, _, longest, ..] = words.as_slice() else {
                return Err(ImportError::line(line.number, "whole line", "columns are missing"));
            };
            let count = number(count, line.number, "Period")?;
            let max_ns = value(longest, "Max Single")?;
            let (min_ns, resolution_ns) = (0, 1000);
            levels.insert(
                Level::UserThread,
                TopCell { line: line.number, count, min_ns, max_ns, mean_ns: None, resolution_ns },
            );
        } else {
            let mut parts = rest.split('|');
            let count = number(parts.next().unwrap_or("").trim(), line.number, "COUNT")?;
            for (part, level) in parts.zip([Level::Irq, Level::KernelThread, Level::UserThread]) {
                let words: Vec<&str> = part.split_whitespace().collect();
                let [_, min, avg, max] = words.as_slice() else { continue };
                if *max == "-" {
                    continue;
                }
                let cell = TopCell {
                    line: line.number,
                    count,
                    min_ns: value(min, "min")?,
                    max_ns: value(max, "max")?,
                    mean_ns: Some(value(avg, "avg")? as f64),
                    resolution_ns: unit.ns() as u64,
                };
                levels.insert(level, cell);
            }
        }
        self.cpus.insert(cpu, levels);
        Ok(())
    }
}
