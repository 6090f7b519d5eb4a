//! The output of Xenomai's `latency` and EVL's `latmus`: lines RTT, RTH, RTD, RTS, and histograms HSH, HSD, HSS.
//!
//! An RTD line covers one second. The histogram `avg` has all samples; `min` and `max` have the extremes of each second
//! and are not distributions. Overruns are counted and have no sample. xeno-test writes several levels into one file;
//! each becomes a phase.

use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;
use tardy_record::plan::Policy;
use tardy_record::series::Level;

use super::{ImportOptions, decimal_ns, number};
use crate::dates;
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream};
use crate::lines::{Line, Lines};

const PHASE_MAX: usize = 64;
pub(crate) const MEASURES: &str = "from a timer's deadline to the handler or the task that waited for it";

#[derive(Debug, Default)]
struct Part {
    mode: String,
    level: Option<Level>,
    period_ns: Option<u64>,
    priority: Option<u32>,
    cpu: Option<u32>,
    /// The names of the columns of RTD lines.
    heads: Vec<String>,
    seconds: Vec<i64>,
    best_ns: Option<i64>,
    worst_ns: Option<i64>,
    bins: Vec<Bin>,
    listed_samples: Option<(u64, u64)>,
    /// The line number, minimum, mean and maximum of RTS, in ns.
    result: Option<(u64, i64, i64, i64)>,
    overruns: Option<u64>,
    duration_ns: Option<u64>,
}

/// Imports the lines.
pub(crate) fn import(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let mut lines = Lines::new(reader);
    let mut parts: Vec<Part> = Vec::new();
    let mut is_latmus = false;
    let mut unended = false;
    while let Some(line) = lines.next_line()? {
        let Some((key, rest)) = line.text.trim_start().split_once('|') else { continue };
        unended = line.unended;
        if line.unended {
            continue;
        }
        match key {
            "RTT" => {
                line.whole()?;
                let part = head(line, rest)?;
                is_latmus |= !part.mode.contains("task") && !part.mode.contains("handler");
                let goes_on =
                    parts.last().is_some_and(|last| last.mode == part.mode && last.result.is_none());
                if !goes_on {
                    parts.push(part);
                }
                if parts.len() > PHASE_MAX {
                    return Err(ImportError::TooMuch(format!(
                        "more than {PHASE_MAX} measurements in one file"
                    )));
                }
            }
            "RTH" | "RTD" | "HSD" | "HSS" | "RTS" => {
                line.whole()?;
                let Some(part) = parts.last_mut() else {
                    let reason = "no line RTT precedes it; the beginning of the file is missing";
                    return Err(ImportError::line(line.number, key, reason));
                };
                part.line(line, key, rest)?;
            }
            _ => {}
        }
    }
    let tool = if is_latmus { "latmus" } else { "Xenomai latency" };
    let mut imported = Imported {
        tool: tool.to_owned(),
        measures: MEASURES,
        late_periods: LatePeriods::Counted,
        last_line: Some(lines.read_lines()),
        cut_short: unended || parts.iter().any(|part| part.result.is_none()),
        ..Imported::default()
    };
    let highest = parts.iter().filter_map(|part| part.level).max();
    for part in parts {
        let beside = part.level != highest;
        let phase = part.phase(&mut imported, beside)?;
        imported.phases.extend(phase);
    }
    if imported.phases.is_empty() {
        return Err(ImportError::field("the file", "it contains no RTD or RTS line with a result"));
    }
    Ok(imported)
}

/// `  00:00:01  (periodic user-mode task, 500 us period, priority 99)`
fn head(line: Line<'_>, rest: &str) -> Result<Part> {
    let inner = rest.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map(|(inner, _)| inner);
    let inner = inner.ok_or_else(|| ImportError::line(line.number, "RTT", "it has no mode in brackets"))?;
    let mut parts = inner.split(',').map(str::trim);
    let mode: String = parts.next().unwrap_or("").chars().take(64).collect();
    let mut part = Part { level: level(&mode), mode, ..Part::default() };
    for words in parts {
        part.take(words);
    }
    Ok(part)
}

/// The level for a mode of `latency` or a context of `latmus`.
pub(crate) fn level(mode: &str) -> Option<Level> {
    match mode {
        mode if mode.contains("user") => Some(Level::UserThread),
        mode if mode.contains("handler") || mode.contains("irq") => Some(Level::Irq),
        mode if mode.contains("kernel") || mode.contains("in-kernel") => Some(Level::KernelThread),
        mode if mode.contains("gpio") => Some(Level::Wire),
        _ => None,
    }
}

impl Part {
    /// Reads a word such as `500 us period`, `priority 99` or `CPU1-noisol`.
    fn take(&mut self, words: &str) {
        let leading = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse::<u64>().ok()
        };
        if words.ends_with("period") {
            self.period_ns = leading(words).and_then(|us| us.checked_mul(1000)).filter(|ns| *ns > 0);
        } else if let Some(priority) = words.strip_prefix("priority ") {
            self.priority = leading(priority).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= 99);
        } else if let Some(cpu) = words.strip_prefix("CPU") {
            self.cpu = leading(cpu).and_then(|cpu| u32::try_from(cpu).ok());
        }
    }

    fn line(&mut self, line: Line<'_>, key: &str, rest: &str) -> Result<()> {
        let cells: Vec<&str> = rest.split('|').map(str::trim).collect();
        match key {
            "RTH" => self.heads = cells.iter().map(|cell| cell.trim_matches('-').to_owned()).collect(),
            "RTD" => {
                let us = |name: &str| self.cell(line, &cells, name).map(|cell| marked(cell, line, name));
                let (max, best, worst) = (us("lat max"), us("lat best"), us("lat worst"));
                let overruns =
                    self.cell(line, &cells, "overrun").map(|cell| number(cell, line.number, "overrun"));
                self.seconds.extend(max.transpose()?);
                self.best_ns = best.transpose()?.or(self.best_ns);
                self.worst_ns = worst.transpose()?.or(self.worst_ns);
                self.overruns = overruns.transpose()?.or(self.overruns);
            }
            "HSD" if cells.first() == Some(&"avg") => {
                let [_, range, count] = cells.as_slice() else {
                    return Err(ImportError::line(line.number, "HSD", "expected three columns"));
                };
                let (lower, upper) = range.split_once('-').unwrap_or((range, ""));
                let lower = decimal_ns(lower.trim(), 1000, line.number, "range")?;
                let upper = decimal_ns(upper.trim(), 1000, line.number, "range")?;
                let count = number(count, line.number, "samples")?;
                if upper <= lower || self.bins.last().is_some_and(|bin| bin.upper_ns > lower) {
                    return Err(ImportError::line(line.number, "range", "it does not ascend"));
                }
                if count > 0 {
                    self.bins.push(Bin { lower_ns: lower, upper_ns: upper, count });
                }
            }
            "HSS" if cells.first() == Some(&"avg") => {
                let count = number(cells.get(1).unwrap_or(&""), line.number, "samples")?;
                self.listed_samples = Some((line.number, count));
            }
            "RTS" => {
                let [min, mean, max, overruns, ..] = cells.as_slice() else {
                    return Err(ImportError::line(line.number, "RTS", "it has too few columns"));
                };
                let us = |cell: &str, name: &str| decimal_ns(cell, 1000, line.number, name);
                self.result =
                    Some((line.number, us(min, "lat min")?, us(mean, "lat avg")?, us(max, "lat max")?));
                self.overruns = Some(number(overruns, line.number, "overrun")?);
                let time = cells.last().and_then(|cell| cell.split('/').next());
                self.duration_ns = time.and_then(dates::duration_ns);
            }
            _ => {}
        }
        Ok(())
    }

    /// The cell of an RTD line in the column `name`.
    fn cell<'a>(&self, _line: Line<'_>, cells: &[&'a str], name: &str) -> Option<&'a str> {
        let at = self.heads.iter().position(|head| head == name)?;
        cells.get(at).copied()
    }

    fn phase(self, imported: &mut Imported, beside: bool) -> Result<Option<ImportedPhase>> {
        let (line, min_ns, mean_ns, max_ns) = match (self.result, self.best_ns, self.worst_ns) {
            (Some((line, min, mean, max)), _, _) => (line, min, Some(mean), max),
            (None, Some(best), Some(worst)) => (0, best, None, worst),
            _ => return Ok(None),
        };
        let place = if line > 0 { format!("line {line}, RTS") } else { "the last RTD line".to_owned() };
        if let (Some((line, min, _, max)), Some(best), Some(worst)) =
            (self.result, self.best_ns, self.worst_ns)
            && (min > best || max < worst)
        {
            imported.contradictions.push(format!(
                "line {line}, RTS: minimum and maximum are {} and {} us, but the last RTD line has {} and {} us",
                min as f64 / 1000.0,
                max as f64 / 1000.0,
                best as f64 / 1000.0,
                worst as f64 / 1000.0
            ));
        }
        let mut counts = if self.bins.is_empty() {
            imported.remarks.push(
                "there is no histogram (-h): counts are computed from whole seconds and the period, and there are no quantiles"
                    .to_owned(),
            );
            let period_ns = self.period_ns.ok_or_else(|| {
                ImportError::field(
                    &place,
                    "without a histogram and a period, the number of samples is unknown",
                )
            })?;
            // An RTD line is printed after as many samples as fit into a second (latency.c, nsamples).
            let count = (self.seconds.len() as u64).saturating_mul(1_000_000_000 / period_ns);
            Counts::extremes(count, min_ns, max_ns, 1)
        } else {
            Counts {
                bins: self.bins,
                min_ns: Some(min_ns),
                max_ns: Some(max_ns),
                resolution_ns: 1,
                ..Counts::default()
            }
        };
        let total = counts.total(&place)?;
        if let Some((line, listed)) = self.listed_samples.filter(|(_, listed)| *listed != total) {
            imported
                .contradictions
                .push(format!("line {line}, samples: it is {listed}, but the lines HSD add up to {total}"));
        }
        counts.max_is_stated = self.result.is_some();
        counts.max_at_least = !counts.max_is_stated;
        reconcile(&mut counts, self.period_ns, &mut imported.remarks);
        counts.open_last_for_maximum();
        counts.mean_ns = mean_ns.map(|ns| ns as f64);
        counts.missed = self.overruns;
        counts.second_maxima_ns = self.seconds;
        counts.check(&place)?;
        imported.duration_ns = imported.duration_ns.max(self.duration_ns);
        let mut stream = Stream::of_thread(0, Readings::Counts(Box::new(counts)));
        stream.level = self.level.unwrap_or(Level::UserThread);
        (stream.cpu, stream.interval_ns, stream.beside) = (self.cpu, self.period_ns, beside);
        if stream.level != Level::Irq {
            stream.priority = self.priority;
            stream.policy =
                self.priority.map(|priority| if priority > 0 { Policy::Fifo } else { Policy::Other });
        }
        Ok(Some(ImportedPhase { label: self.mode, streams: vec![stream] }))
    }
}

/// Makes the bins and the extremes of a result agree where `latency` counts them differently (latency.c):
///
/// - The histogram includes the unfinished second; minimum, mean and maximum do not.
/// - The histogram has absolute values (`add_histogram`); the extremes have a sign.
///
/// Anything else that does not agree is left for [`Counts::check`].
pub(super) fn reconcile(counts: &mut Counts, period_ns: Option<u64>, remarks: &mut Vec<String>) {
    let (Some(min_ns), Some(max_ns)) = (counts.min_ns, counts.max_ns) else { return };
    if min_ns < 0 {
        restore_signs(&mut counts.bins, min_ns, max_ns);
        counts.rounded_up = true;
        remarks.push(
            "early wake-ups count as late ones in the histogram, since latency drops their sign".to_owned(),
        );
    }
    let Some(per_second) = period_ns.and_then(|ns| 1_000_000_000u64.checked_div(ns)).filter(|n| *n > 0)
    else {
        return;
    };
    let sum =
        |bins: &mut dyn Iterator<Item = &Bin>| bins.fold(0u64, |sum, bin| sum.saturating_add(bin.count));
    let unfinished = sum(&mut counts.bins.iter()) % per_second;
    counts.outside_mean = unfinished;
    let outside = |bin: &&Bin| bin.upper_ns <= min_ns || bin.lower_ns > max_ns;
    let beyond = sum(&mut counts.bins.iter().filter(outside));
    if beyond == 0 || beyond > unfinished {
        return;
    }
    let (Some(first), Some(last)) = (counts.bins.first().copied(), counts.bins.last().copied()) else {
        return;
    };
    if first.upper_ns <= min_ns {
        counts.min_ns = Some(first.lower_ns);
    }
    if last.lower_ns > max_ns {
        counts.max_ns = Some(last.upper_ns - 1);
    }
    remarks.push(format!(
        "latency's minimum and maximum leave out the last second, which was not finished; {beyond} of its readings are \
         outside them, and the edges of their bins are shown instead"
    ));
}

/// Gives bins of absolute values their sign: above the maximum they are early wake-ups. Bins up to the maximum may hold
/// early and late ones, and stay; without mirrored bins, the lowest one holds the minimum too.
fn restore_signs(bins: &mut Vec<Bin>, min_ns: i64, max_ns: i64) {
    let is_early = |bin: &Bin| bin.lower_ns > max_ns && bin.lower_ns <= -min_ns;
    let mut signed: Vec<Bin> = bins.iter().rev().filter(|bin| is_early(bin)).copied().collect();
    for bin in &mut signed {
        (bin.lower_ns, bin.upper_ns) = (1 - bin.upper_ns, 1 - bin.lower_ns);
    }
    signed.extend(bins.iter().filter(|bin| !is_early(bin)));
    if let Some(first) = signed.first_mut() {
        first.lower_ns = first.lower_ns.min(min_ns);
    }
    *bins = signed;
}

/// Parses a value in us. latmus appends `+` to a value beyond its histogram.
fn marked(cell: &str, line: Line<'_>, name: &str) -> Result<i64> {
    decimal_ns(cell.trim_end_matches('+'), 1000, line.number, name)
}
