//! rtla's tables: timerlat and osnoise, `top`.
//!
//! A file has one screen or many, and each replaces the previous one. Numbers only grow, so a screen with lower numbers
//! belongs to another measurement. Newer versions add up all CPUs in a line `ALL`, against which the others are checked.

use std::collections::BTreeMap;
use std::io::Read;

use tardy_record::series::Level;

use super::rtla::{duration_ns, phases};
use super::rtla_analysis::Analysis;
use super::{ImportOptions, decimal_ns, number, rtla};
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, Stream, Unit, in_ns};
use crate::lines::{Line, Lines};

#[derive(Default)]
struct Top {
    is_osnoise: bool,
    unit: Option<Unit>,
    duration_ns: Option<u64>,
    /// The number of screens so far.
    screen: u64,
    cpus: BTreeMap<u32, Cpu>,
    /// Whether the last screen has the line of dashes that precedes `ALL`.
    ruled: bool,
    /// The line `ALL` of the last screen.
    total: Option<Total>,
    analysis: Analysis,
}

struct Cpu {
    screen: u64,
    line: u64,
    count: u64,
    levels: BTreeMap<Level, Cell>,
}

struct Cell {
    /// `None` if the table does not have it.
    min_ns: Option<i64>,
    max_ns: i64,
    mean_ns: Option<f64>,
}

struct Total {
    line: u64,
    /// The count: a number and the power of ten by which it is multiplied.
    count: (u64, u32),
    levels: BTreeMap<Level, Cell>,
}

/// Imports `top`: a count and extremes for each CPU, from the last screen.
pub(crate) fn import(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let mut lines = Lines::new(reader);
    let mut top = Top::default();
    let mut unended = false;
    while let Some(line) = lines.next_line()? {
        top.line(line)?;
        unended = line.unended && !top.analysis.has_begun;
    }
    let mut imported = rtla::without_readings(top.is_osnoise, top.duration_ns, lines.read_lines());
    let left: Vec<u32> =
        top.cpus.iter().filter(|(_, one)| one.screen < top.screen).map(|(cpu, _)| *cpu).collect();
    imported.cut_short = unended || (top.total.is_none() && (top.ruled || !left.is_empty()));
    for cpu in left {
        imported.remarks.push(format!(
            "the last screen has no line for CPU {cpu}; its numbers are from an earlier screen"
        ));
    }
    imported.remarks.extend(top.analysis.remarks(&top.cpus.keys().copied().collect::<Vec<_>>()));
    imported.remarks.push(
        "the table has only counts and extremes, not a distribution: there are no quantiles".to_owned(),
    );
    if top.is_osnoise {
        imported.remarks.push(
            "the table has only the longest noise of each period: each reading is a period, and the minimum is unknown"
                .to_owned(),
        );
    }
    imported.contradictions = top.contradictions_with_total();
    let streams = top.streams()?;
    if streams.is_empty() {
        return Err(ImportError::field("the file", "the table has no line for a CPU"));
    }
    imported.phases = phases(streams, if top.is_osnoise { "osnoise" } else { "timerlat" });
    Ok(imported)
}

impl Top {
    fn line(&mut self, line: Line<'_>) -> Result<()> {
        let plain: String = line.text.chars().filter(|c| !c.is_control()).collect();
        let text = plain.trim();
        if self.analysis.line(line, text)? {
            return Ok(());
        }
        if line.text.contains("Timer Latency") && !text.contains('|') {
            self.begin_screen();
        } else if text.contains("Operating System Noise") || text.contains("Hardware-related Noise") {
            self.is_osnoise = true;
            self.begin_screen();
        } else if text.contains("IRQ Timer Latency (") {
            self.unit = Some(if text.contains("(ns)") { Unit::Ns } else { Unit::Us });
            self.lasts(line, text)?;
        } else if let Some(rest) = text.strip_prefix("duration:") {
            self.unit = Some(Unit::Us);
            self.lasts(line, rest)?;
        } else if line.unended {
            return Ok(());
        } else if text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('#') {
            line.whole()?;
            self.cpu(line, text)?;
        } else if text.starts_with("---") {
            self.ruled = true;
        } else if let Some(rest) = text.strip_prefix("ALL #") {
            line.whole()?;
            self.total(line, rest)?;
        }
        Ok(())
    }

    fn begin_screen(&mut self) {
        self.screen += 1;
        (self.ruled, self.total) = (false, None);
    }

    /// Reads the duration at the beginning of a screen.
    fn lasts(&mut self, line: Line<'_>, text: &str) -> Result<()> {
        let lasted_ns = text.split('|').next().and_then(duration_ns);
        if let (Some(before), Some(now)) = (self.duration_ns, lasted_ns)
            && now < before
        {
            let (before, now) = (before / 1_000_000_000, now / 1_000_000_000);
            return Err(went_back(line, "duration", &format!("{before} s"), &format!("{now} s")));
        }
        self.duration_ns = lasted_ns;
        Ok(())
    }

    /// `  0 #1000000   |        1        0 …`
    fn cpu(&mut self, line: Line<'_>, text: &str) -> Result<()> {
        let (cpu, rest) = text.split_once('#').unwrap_or((text, ""));
        let cpu = number(cpu.trim(), line.number, "CPU")?;
        let cpu = u32::try_from(cpu)
            .map_err(|_| ImportError::line(line.number, "CPU", "it is not a CPU number"))?;
        let (count, levels) = if self.is_osnoise {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let [count, _, _, _, _, longest, ..] = words.as_slice() else {
                return Err(ImportError::line(line.number, "whole line", "columns are missing"));
            };
            let count = number(count, line.number, "Period")?;
            let max_ns = self.value(line, longest, "Max Single")?;
            (count, BTreeMap::from([(Level::UserThread, Cell { min_ns: None, max_ns, mean_ns: None })]))
        } else {
            let (count, rest) = rest.split_once('|').unwrap_or((rest, ""));
            (number(count.trim(), line.number, "COUNT")?, self.levels(line, rest)?)
        };
        let now = Cpu { screen: self.screen, line: line.number, count, levels };
        if let Some(before) = self.cpus.get(&cpu) {
            now.follows(before, line, cpu)?;
        }
        self.cpus.insert(cpu, now);
        Ok(())
    }

    /// Reads `cur min avg max` of each level; the line `ALL` has no `cur`.
    fn levels(&self, line: Line<'_>, text: &str) -> Result<BTreeMap<Level, Cell>> {
        let mut levels = BTreeMap::new();
        for (part, level) in text.split('|').zip([Level::Irq, Level::KernelThread, Level::UserThread]) {
            let words: Vec<&str> = part.split_whitespace().collect();
            let ([_, min, avg, max] | [min, avg, max]) = words.as_slice() else {
                if words.is_empty() {
                    continue;
                }
                return Err(ImportError::line(line.number, "whole line", "columns are missing"));
            };
            if *max == "-" {
                continue;
            }
            let cell = Cell {
                min_ns: Some(self.value(line, min, "min")?),
                max_ns: self.value(line, max, "max")?,
                mean_ns: Some(self.value(line, avg, "avg")? as f64),
            };
            levels.insert(level, cell);
        }
        Ok(levels)
    }

    fn value(&self, line: Line<'_>, word: &str, key: &str) -> Result<i64> {
        let unit = self.unit.ok_or_else(|| ImportError::line(line.number, "CPU", "no header precedes it"))?;
        in_ns(decimal_ns(word, 1, line.number, key)?, unit, &format!("line {}, {key}", line.number))
    }

    /// `120001 e0 |                    0         1        14 | …`: from a million on, the last digits of the count are dropped,
    /// and `e` is their number (rtla, timerlat_top_print_sum).
    fn total(&mut self, line: Line<'_>, text: &str) -> Result<()> {
        let (count, rest) = text.split_once('|').unwrap_or((text, ""));
        let mut words = count.split_whitespace();
        let shown = number(words.next().unwrap_or(""), line.number, "ALL, count")?;
        let lost = number(words.next().unwrap_or("e0").trim_start_matches('e'), line.number, "ALL, e")?;
        let lost = u32::try_from(lost).ok().filter(|lost| *lost < 20).ok_or_else(|| {
            ImportError::line(
                line.number,
                "ALL, e",
                format!("{lost} dropped digits are too many for a count"),
            )
        })?;
        self.total =
            Some(Total { line: line.number, count: (shown, lost), levels: self.levels(line, rest)? });
        Ok(())
    }

    /// Contradictions between the line `ALL` and the CPUs.
    fn contradictions_with_total(&self) -> Vec<String> {
        let mut contradictions = Vec::new();
        let Some(total) = &self.total else { return contradictions };
        let sum = self.cpus.values().fold(0u64, |sum, cpu| sum.saturating_add(cpu.count));
        let (shown, lost) = total.count;
        if sum / 10u64.pow(lost) != shown {
            let shown = if lost == 0 { shown.to_string() } else { format!("{shown}e{lost}") };
            contradictions.push(format!(
                "line {}, ALL, count: it is {shown}, but the CPUs add up to {sum}",
                total.line
            ));
        }
        for (level, stated) in &total.levels {
            let cells = || self.cpus.values().filter_map(|cpu| cpu.levels.get(level));
            let mut differs = |key: &str, stated: i64, low: Option<i64>, high: Option<i64>| {
                if let (Some(low), Some(high)) = (low, high)
                    && !(low..=high).contains(&stated)
                {
                    let us = |ns: i64| ns as f64 / 1000.0;
                    let found = if low == high {
                        format!("{} us", us(low))
                    } else {
                        format!("{} to {} us", us(low), us(high))
                    };
                    contradictions.push(format!(
                        "line {}, ALL, {key} of {}: it is {} us, but the CPUs have {found}",
                        total.line,
                        level.name(),
                        us(stated)
                    ));
                }
            };
            let least = cells().filter_map(|cell| cell.min_ns).min();
            let most = cells().map(|cell| cell.max_ns).max();
            if let Some(min_ns) = stated.min_ns {
                differs("min", min_ns, least, least);
            }
            differs("max", stated.max_ns, most, most);
            let means = || cells().filter_map(|cell| Some(cell.mean_ns? as i64));
            differs("avg", stated.mean_ns.unwrap_or(0.0) as i64, means().min(), means().max());
        }
        contradictions
    }

    fn streams(&self) -> Result<Vec<Stream>> {
        let highest = self.cpus.values().flat_map(|cpu| cpu.levels.keys()).max().copied();
        let resolution_ns = self.unit.map_or(1000, |unit| unit.ns() as u64);
        let cpus: Vec<u32> = self.cpus.keys().copied().collect();
        let mut streams = Vec::new();
        for (number, cpu) in &self.cpus {
            for (level, found) in &cpu.levels {
                let min_ns = found.min_ns.unwrap_or(0);
                let mut counts = Counts::extremes(cpu.count, min_ns, found.max_ns, resolution_ns);
                counts.min_ns = counts.min_ns.and(found.min_ns);
                counts.mean_ns = found.mean_ns;
                self.analysis.complete(&mut counts, *level, *number, &cpus);
                counts.check(&format!("line {}, CPU {number}", cpu.line))?;
                streams.push(rtla::stream(*number, *level, highest, self.is_osnoise, counts));
            }
        }
        Ok(streams)
    }
}

impl Cpu {
    /// Checks that this can be `cpu` in a later screen of the same measurement.
    fn follows(&self, before: &Self, line: Line<'_>, cpu: u32) -> Result<()> {
        let back = |field: &str, from: String, to: String| {
            Err(went_back(line, &format!("{field} of CPU {cpu}"), &from, &to))
        };
        if self.count < before.count {
            return back("count", before.count.to_string(), self.count.to_string());
        }
        for (level, old) in &before.levels {
            let us = |ns: i64| format!("{} us", ns as f64 / 1000.0);
            let Some(new) = self.levels.get(level) else {
                return back("columns", format!("those of {}", level.name()), "none".to_owned());
            };
            if new.max_ns < old.max_ns {
                return back("max", us(old.max_ns), us(new.max_ns));
            }
            if let (Some(old), Some(new)) = (old.min_ns, new.min_ns)
                && new > old
            {
                return back("min", us(old), us(new));
            }
        }
        Ok(())
    }
}

fn went_back(line: Line<'_>, field: &str, from: &str, to: &str) -> ImportError {
    let reason = format!(
        "it goes back from {from} to {to}; a second measurement begins here; split the file and import each part"
    );
    ImportError::line(line.number, field, reason)
}
